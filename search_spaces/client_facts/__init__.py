"""The types of which the facts about a client consist: its knobs and their ranges, its rules and its limits."""
