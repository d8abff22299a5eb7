"""Generated tests: each manager against a naive model, and case by case."""

import pytest

pytest.register_assert_rewrite(f"{__name__}._support")
