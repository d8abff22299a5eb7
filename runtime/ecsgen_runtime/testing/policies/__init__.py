"""The pieces of storage policies; `one_other` is what holds where two of them meet."""
