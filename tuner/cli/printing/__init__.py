"""How results are printed by commands that exist with and without a service."""
