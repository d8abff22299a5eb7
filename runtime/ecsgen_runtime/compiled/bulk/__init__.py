"""What is done for many rows at once, as loops."""
