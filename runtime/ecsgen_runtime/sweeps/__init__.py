"""A model run many times: parameters and seeds, processes, a file of what ended, one table."""
