"""What proposes configs."""
