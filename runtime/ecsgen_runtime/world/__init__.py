"""The world: its parts, and signatures of entities."""
