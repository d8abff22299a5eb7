"""Who is near whom: places in cells, and the pairs that are in reach of each other."""
