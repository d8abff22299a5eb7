"""Whom rows belong to."""
