"""What a topic's record batches say about its producers, and what they could save. It knows no study."""
