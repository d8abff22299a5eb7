"""What takes the place of functions of the runtime that take many rows at once."""
