"""Random numbers of rows: words of 64 bits, and what is made of them."""

from __future__ import annotations

import math
from typing import Final

MASK: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    """Return a word made of another."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def call_key(seed: int, kernel: str, call: int) -> int:
    """Return the key of a call, of a kernel's whole name and the number of the call from 0."""
    hashed = 0xCBF29CE484222325  # FNV-1a
    for byte in kernel.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & MASK
    return mix(mix(seed ^ hashed) + call * _GOLDEN & MASK)


def row_stem(who: int, key: int) -> int:
    """Return the number from which all words of a row in a call are made."""
    return mix(who ^ key)


def pass_number(who: int, number: int) -> int:
    """Return what stands for `who` within a loop: `number` counts passes, or is whom it meets."""
    return mix(who ^ mix(number + _GOLDEN & MASK))


def word(stem: int, number: int) -> int:
    """Return a row's word of a number from 0."""
    return mix(stem + (number + 1) * _GOLDEN & MASK)


def unit_number(word: int) -> float:
    """Return the number of a word in [0, 1)."""
    return (word >> 11) * 2.0**-53


def is_below(word: int, limit: float) -> bool:
    """Return whether the number of a word in [0, 1) is below a limit; of one that is none False."""
    return 0 <= limit < math.inf and unit_number(word) < limit


def number_below(word: int, limit: int) -> int:
    """Return the integer of a word from 0 to below the limit; 0 for a limit of 0."""
    return (word >> 32) * min(max(limit, 0), 2**32 - 1) >> 32
