"""What generated tests share: a naive model, its rules, and direct cases.

Everything comes in pieces, one module per policy; a component's tests put together the pieces of
the policies that its schema asks for, and say which package they are about: no piece knows one.
"""

from pkgutil import iter_modules

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{it.name}" for it in iter_modules(__path__))
)
