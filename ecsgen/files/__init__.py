"""What is on the disk and what a build does to it: from looking to writing."""
