"""Results of a study, computed from the trials in its results store."""
