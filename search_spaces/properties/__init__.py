"""Properties of producers and consumers: their types, ranges and defaults, their roles, and how values are parsed."""
