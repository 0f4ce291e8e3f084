"""Tests of what the packages in `runners` share, and of whole measurements on a real broker."""
