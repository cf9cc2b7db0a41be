"""The command line: one thin module per group of commands."""
