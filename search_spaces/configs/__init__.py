"""Checked configs of producers and consumers, what they promise, and which records they can write."""
