"""Rows one at a time: objects that follow a row wherever it goes."""
