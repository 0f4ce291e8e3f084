"""The HTTP side of the service: its resources, its pages, and who may use them."""
