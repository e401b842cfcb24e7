"""The scripted model server: a model that says what a test tells it, on both wires, and refuses
what a strict one refuses.

    from tests.scripted.script import Call, Reply, Say
    from tests.scripted.server import ScriptedServer

`script` holds the vocabulary of scripts, `server` the servers, `validator` the rules of strict
providers, `plugin` the `scripted` fixture. By hand: `python -m tests.scripted --help`.
"""
