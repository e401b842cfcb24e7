"""Permission rules as data, and whether one matches a call. No I/O, no decision."""
