"""How studies and experiments run: open the cluster, measure trials, store them, and close everything again."""
