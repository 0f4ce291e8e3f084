"""What everything else here reads: what a study asks, what a trial is, errors."""
