"""Tables of trials: all trials, the newest ones, the front, and the tables of a grid search."""
