"""The Kafka clusters that we measure against: the brokers that we start or find, and the topics on them."""
