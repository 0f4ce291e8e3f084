"""Translation of a producer config for the other client."""
