"""Random numbers of kernels: made from seed, kernel, call, row and place, so that no order matters.

SplitMix64's mixer, twice: once over who a row is, once over which of its numbers it is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .normal import normal_into

DrawnWords = NDArray[np.uint64]

_STEP: Final = 0x9E37_79B9_7F4A_7C15
_FIRST: Final = 0xBF58_476D_1CE4_E5B9
_SECOND: Final = 0x94D0_49BB_1331_11EB
_ALL: Final = (1 << 64) - 1

_SHIFTS: Final = np.uint64(30), np.uint64(27), np.uint64(31)
_FACTORS: Final = np.uint64(_FIRST), np.uint64(_SECOND)
_ELEVEN: Final = np.uint64(11)
_TWELVE: Final = np.uint64(12)
_HALF: Final = np.uint64(32)


def _mixed(number: int) -> int:
    """Return a number of 64 bits, each of which depends on all of the given one's."""
    number = (number ^ number >> 30) * _FIRST & _ALL
    number = (number ^ number >> 27) * _SECOND & _ALL
    return number ^ number >> 31


def draw_key(seed: int, kernel: int, call: int) -> np.uint64:
    """Return what all rows of one call have in common; `kernel` is the hash of its name."""
    return np.uint64(_mixed(_mixed(seed ^ kernel) + call * _STEP & _ALL))


def draw_stems(who: Any, key: np.uint64, stem: DrawnWords, bits: DrawnWords) -> None:
    """Write what all numbers of a row have in common, shape (n,); `bits` is working memory."""
    np.bitwise_xor(who, key, out=stem)
    _mix(stem, bits)


def draw_random(
    stem: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write numbers in [0, 1), shape (*shape, n): of each row those from `number` on.

    `word` and `bits` are working memory, shape (n,).
    """
    for place, cells in enumerate(_planes(out)):
        _words(stem, number + place, word, bits)
        np.right_shift(word, _ELEVEN, out=word)
        np.copyto(cells, word.view(np.int64), casting="unsafe")
        cells *= 2.0**-53


def draw_words(
    stem: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write the words that numbers are made of; as `draw_random` otherwise."""
    for place, cells in enumerate(_planes(out)):
        _words(stem, number + place, cells, bits)


def draw_normal(
    stem: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write numbers of mean 0 and deviation 1; as `draw_random` otherwise."""
    for place, cells in enumerate(_planes(out)):
        _words(stem, number + place, word, bits)
        np.right_shift(word, _TWELVE, out=word)
        normal_into(word, cells, bits.view(np.float64))


def draw_range(
    stem: DrawnWords,
    number: int,
    bound: Any,
    out: Any,
    word: DrawnWords,
    bits: DrawnWords,
) -> None:
    """Write whole numbers from 0 to `bound` - 1, which fits `out`; as `draw_random` otherwise.

    `bound`: from 0 to 2^32 - 1.
    """
    bounds = _planes(np.broadcast_to(np.asarray(bound, np.int64), out.shape))
    for place, cells in enumerate(_planes(out)):
        _words(stem, number + place, word, bits)
        np.right_shift(word, _HALF, out=word)
        np.multiply(word, bounds[place].view(np.uint64), out=word)
        np.right_shift(word, _HALF, out=cells.view(np.uint64))


def _words(stem: DrawnWords, number: int, word: DrawnWords, bits: DrawnWords) -> None:
    np.add(stem, np.uint64((number + 1) * _STEP & _ALL), out=word)
    _mix(word, bits)


def _mix(word: DrawnWords, bits: DrawnWords) -> None:
    """Mix in place."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        np.right_shift(word, shift, out=bits)
        np.bitwise_xor(word, bits, out=word)
        np.multiply(word, factor, out=word)
    np.right_shift(word, _SHIFTS[2], out=bits)
    np.bitwise_xor(word, bits, out=word)


def _planes(cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Return cells, shape (*shape, n), as an array of each element, in C order."""
    if cells.ndim == 1:
        return [cells]
    return [cells[place] for place in np.ndindex(cells.shape[:-1])]


# --- the same for one row: a stem is a plain integer ---------------------------------------


def stem_of(who: Any, key: np.uint64) -> int:
    """Return what all numbers of a row have in common."""
    return _mixed(int(who) ^ int(key))


def id_stem_of(slot: Any, generation: Any, key: np.uint64) -> int:
    """Return the same of a row that is known by its id."""
    return _mixed((int(generation) << 32 | int(slot)) ^ int(key))


def random_at(stem: int, number: int) -> np.float64:
    """Return a number in [0, 1)."""
    return np.float64((_word(stem, number) >> 11) * 2.0**-53)


def range_at(stem: int, number: int, bound: Any) -> np.int64:
    """Return a whole number from 0 to `bound` - 1."""
    return np.int64((_word(stem, number) >> 32) * int(bound) >> 32)


def normal_at(stem: int, number: int) -> np.float64:
    """Return a number of mean 0 and deviation 1."""
    word = np.array([_word(stem, number) >> 12], np.uint64)
    found = np.empty(1)
    normal_into(word, found, np.empty(1))
    return np.float64(found[0])


def _word(stem: int, number: int) -> int:
    return _mixed(stem + (number + 1) * _STEP & _ALL)
