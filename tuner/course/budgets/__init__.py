"""The limits of time and bytes of a study, and the estimate of what it takes."""
