"""One file of the generated package, before it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ecsgen.fingerprint import digest


@dataclass(frozen=True, slots=True)
class Output:
    """A file to be: where it goes, what it depends on, and how to make its unformatted text.

    `path` is relative to the output folder, with forward slashes; generated tests begin with
    `tests/`. `key` digests everything that the text is made from, so that equal keys mean equal
    texts. The whole pickles, so that any process can make it.
    """

    path: str
    input_digest: str
    render: partial[str]
    note: str = ""
    """What a build says that writes it."""

    @classmethod
    def of(cls, path: str, make: Callable[..., str], *subjects: Any, note: str = "") -> Output:
        """Return an output whose key digests everything that it is made from."""
        key = digest(repr((path, subjects)).encode())
        return cls(path, key, partial(make, *subjects), note)
