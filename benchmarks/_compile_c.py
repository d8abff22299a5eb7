"""C, compiled on the spot."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from _missing_contenders import MissingError
from numpy.ctypeslib import ndpointer
from numpy.typing import DTypeLike

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


def compiled(folder: Path, source: Path, *arguments: Any) -> Any:
    """Compile a C file and return its function of the same name, which returns nothing.

    Arguments are ctypes types and `pointer_to` for arrays. Raises `MissingError` without gcc.
    """
    if shutil.which("gcc") is None:
        raise MissingError("gcc is not installed")
    library = folder / f"{source.stem}.so"
    subprocess.run(["gcc", *FLAGS, "-o", str(library), str(source)], check=True)
    function = getattr(ctypes.CDLL(str(library)), source.stem)
    function.argtypes = arguments
    function.restype = None
    return function


def pointer_to(dtype: DTypeLike) -> Any:
    """Return the argument type that takes a contiguous array itself and keeps it alive."""
    return ndpointer(np.dtype(dtype), flags="C_CONTIGUOUS")
