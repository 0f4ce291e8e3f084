"""What is wrong with a producer's properties file, and what its lines mean, for either client."""
