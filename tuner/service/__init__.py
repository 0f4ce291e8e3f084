"""The service: studies submitted over HTTP, run one after another, their recommendations fetched by URL."""
