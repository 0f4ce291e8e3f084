"""Properties of producers and consumers: what a client says of each, its role, and how its values are read."""
