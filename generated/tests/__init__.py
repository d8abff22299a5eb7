"""Generated tests: each manager against a naive model, and case by case."""
