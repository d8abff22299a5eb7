"""Maps from entities to rows."""
