"""Confirmation: measures the winners of a search again, and decides which gains are proven."""
