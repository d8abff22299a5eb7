"""What must be true of a snapshot before a world is made of it, one module per structure."""
