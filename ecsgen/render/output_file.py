"""A file of the generated package, before it is rendered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ecsgen.fingerprint import digest


@dataclass(frozen=True, slots=True)
class Output:
    """A file to write: its path, a digest of its inputs, and the renderer of its unformatted text.

    `path` is relative to the output folder, with forward slashes; generated tests begin with
    `tests/`. `input_digest` is of everything that the text is made from, so equal
    digests mean equal texts. An output can be pickled, so that any process can render it.
    """

    path: str
    input_digest: str
    render: partial[str]
    note: str = ""
    """Note of a build that writes the file."""

    @classmethod
    def of(cls, path: str, make: Callable[..., str], *subjects: Any, note: str = "") -> Output:
        """Return an output whose key digests everything that it is made from."""
        key = digest(repr((path, subjects)).encode())
        return cls(path, key, partial(make, *subjects), note)
