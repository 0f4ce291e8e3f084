"""What a study found, read from its record."""
