"""Answers kept for those who ask again."""
