"""Components whose rows are the cells of a grid, and rows that stand on cells."""
