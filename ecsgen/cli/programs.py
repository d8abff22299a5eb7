"""Programs that commands run: what `MODULE:ATTR` names."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from ecsgen.config import UsageError


def find_target(name: str, wanted: str) -> Any:
    """Import a module, seen from here as `python -m` sees it, and return an attribute of it.

    Raises UsageError, after the traceback if the module itself fails.
    """
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise_program_error(name)
        raise UsageError(f"there is no module {error.name!r}") from None
    except Exception:
        raise_program_error(name)
    target = getattr(imported, attribute, None) if attribute else None
    if target is None:
        raise UsageError(f"the module {imported.__name__!r} has no {attribute!r}: wanted {wanted}")
    return target


def raise_program_error(target: str) -> NoReturn:
    """Print the traceback of the program's own error, and raise UsageError."""
    traceback.print_exc()
    raise UsageError(f"{target} failed: see above")
