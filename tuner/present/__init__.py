"""Results as text, tables, pictures and pages, for people and for other programs."""
