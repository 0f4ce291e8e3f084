"""What a topic's record batches say about its producers, and what there is to gain. It knows no study."""
