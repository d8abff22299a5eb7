"""Worlds as files that outlive the code that wrote them; imported when first used."""
