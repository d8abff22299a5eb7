"""Values of users to cells of columns."""
