"""A synthetic corpus of small Verilog designs with descriptions, checked before it is used; see ``docs/nano.md``."""
