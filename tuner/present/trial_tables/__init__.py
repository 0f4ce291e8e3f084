"""Tables of trials: the front, the newest trials, and the tables of a grid search."""
