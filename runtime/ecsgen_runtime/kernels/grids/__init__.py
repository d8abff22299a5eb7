"""Components whose rows are cells of a grid, and rows that occupy cells."""
