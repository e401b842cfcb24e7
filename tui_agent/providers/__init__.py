"""Model calls.

Each provider turns one request into one stream of the same items, whatever the maker's protocol;
one retry layer stands before them all. This is the only room that imports a model SDK, and it does
so on use.
"""
