"""The service's resources and pages."""
