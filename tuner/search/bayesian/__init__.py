"""What is believed of configs that were not measured yet, from those that were, and which is worth measuring next."""
