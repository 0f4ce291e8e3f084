"""The HTTP responses to queries about the results of studies, and the processes that compute them."""
