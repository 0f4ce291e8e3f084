"""How a measurement is judged. Knows nothing of how it was taken."""
