"""Groups: managers whose rows are in step."""
