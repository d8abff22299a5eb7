"""Worlds over several processes. What has the name of something elsewhere stands for it there."""
