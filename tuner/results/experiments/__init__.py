"""The results of an experiment: its rows, and whether the findings hold."""
