"""How an experiment runs."""
