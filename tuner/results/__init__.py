"""Results of studies and experiments, computed from the trials in their results stores."""
