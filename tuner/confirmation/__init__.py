"""How winners are measured again, and what is proven by it."""
