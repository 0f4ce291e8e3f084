"""The Kafka clusters that we measure against (started by us, existing, or in a container) and our topics on them."""
