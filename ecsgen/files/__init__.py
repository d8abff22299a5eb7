"""Files on the disk: their state, the plan of a build, and writing."""
