"""Reports, exports and the verbs that show what a study found."""
