"""Connection properties: how to reach a cluster and how to log in, for both clients."""
