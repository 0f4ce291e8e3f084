"""What was found in a properties file of a producer, and its translation for the other client."""
