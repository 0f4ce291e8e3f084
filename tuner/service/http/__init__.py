"""The HTTP interface of the service: its resources, its pages, and the access control."""
