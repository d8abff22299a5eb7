"""Makes `world.py`: what its template and those of its features lay out."""
