"""Storage policies: what each adds to the managers of components whose schemas ask for it."""
