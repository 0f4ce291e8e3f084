"""How one trial is measured and scored, and how its phases end early."""
