"""The limits of time and bytes of a study, and the estimates of the time and the bytes that it needs."""
