"""Checked configs of producers and consumers, what they guarantee, and which records they can write."""
