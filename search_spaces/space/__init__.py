"""The search space: its parameters, the dependencies between knobs, and the configs that can be drawn from it."""
