"""What is said about recommended configs: what they bring and cost, why, and how studies and clients compare."""
