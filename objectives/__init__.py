"""Judging of measurements. This package does not depend on how a measurement was taken."""
