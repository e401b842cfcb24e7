"""Small widgets that draw lines: a bar, a list of rows, a pager of text. Few, cheap, reusable."""
