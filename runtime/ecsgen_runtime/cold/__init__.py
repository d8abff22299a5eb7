"""Cold data: columns that lie apart from those that are read often."""
