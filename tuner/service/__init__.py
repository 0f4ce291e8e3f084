"""The service: it takes studies over HTTP, runs them one after another, and gives recommendations by URL."""
