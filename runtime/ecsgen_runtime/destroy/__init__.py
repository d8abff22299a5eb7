"""What happens to the instances of dead entities."""
