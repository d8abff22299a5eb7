"""Growth: what managers with a reservation need."""
