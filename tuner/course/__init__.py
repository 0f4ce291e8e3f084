"""Running a study: open the cluster, measure trials, store them, and close everything again."""
