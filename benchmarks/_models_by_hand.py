"""The six models as loops for numba: arrays made for each, and as fast as we could write them.

The same models and sizes as in examples/models/, not the same random numbers. Turns are sorted by
numpy, whose sort is quicker than numba's; who stands where is kept in arrays by cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

Step = Callable[[], object]
U = np.uint64
G = U(0x9E3779B97F4A7C15)
A, B = U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
LOW = U(0xFFFFF)  # the bits of a word of turns that hold rows: up to a million

Loop = TypeVar("Loop")


def jit(loop: Loop) -> Loop:
    decorate: Any = njit(error_model="numpy")
    compiled: Loop = decorate(loop)
    return compiled


@jit
def mix(x: Any) -> Any:
    x = (x ^ (x >> U(30))) * A
    x = (x ^ (x >> U(27))) * B
    return x ^ (x >> U(31))


@jit
def below(base: Any, draw: int, n: int) -> int:
    """A number from 0 to n - 1."""
    return int(((mix(base + U(draw) * G) >> U(32)) * U(n)) >> U(32))


@jit
def chance(base: Any, draw: int) -> float:
    return float(mix(base + U(draw) * G) >> U(11)) * 2.0**-53


@jit
def fill(words: Any, n: int, key: Any) -> None:
    for i in range(n):
        words[i] = (mix(mix(U(i) ^ key) + G) & ~LOW) | U(i)


class Turns:
    """Random orders of up to `count` rows, another one each time."""

    def __init__(self, count: int, seed: int) -> None:
        self.words = np.empty(count, np.uint64)
        self.key = int(mix(U(seed)))

    def of(self, n: int) -> tuple[NDArray[np.uint64], Any]:
        """Return the words, whose low bits are rows, and the key of this pass."""
        self.key = (self.key * 6364136223846793005 + 1442695040888963407) % 2**64
        key, words = U(self.key), self.words[:n]
        fill(words, n, key)
        words.sort()
        return words, key


# --- Flocking ----------------------------------------------------------------------------------


@jit
def _fly(
    words: Any,
    place: Any,
    heading: Any,
    bucket: Any,
    at: Any,
    counts: Any,
    rows: Any,
    m: int,
    size: float,
    vision: float,
    apart: float,
    found: Any,
    ways: Any,
) -> None:
    reach, close = vision * vision, apart * apart
    for k in range(len(words)):
        i = int(words[k] & LOW)
        x, y = place[i, 0], place[i, 1]
        b = bucket[i]
        t = 0
        for dx in range(-1, 2):
            ax, sx = b // m + dx, 0.0
            if ax < 0:
                ax, sx = m - 1, -size
            elif ax == m:
                ax, sx = 0, size
            for dy in range(-1, 2):
                ay, sy = b % m + dy, 0.0
                if ay < 0:
                    ay, sy = m - 1, -size
                elif ay == m:
                    ay, sy = 0, size
                c = ax * m + ay
                for s in range(counts[c]):  # without a branch
                    j = rows[c, s]
                    ox, oy = place[j, 0] + (sx - x), place[j, 1] + (sy - y)
                    found[t] = j
                    ways[t, 0], ways[t, 1] = ox, oy
                    t += int(ox * ox + oy * oy <= reach) & int(j != i)
        gx = gy = ux = uy = hx = hy = 0.0
        for s in range(t):
            j, ox, oy = found[s], ways[s, 0], ways[s, 1]
            near = float(int(ox * ox + oy * oy < close))
            gx += ox
            gy += oy
            ux += near * ox
            uy += near * oy
            hx += heading[j, 0]
            hy += heading[j, 1]
        each = 1.0 / max(t, 1)
        hx = heading[i, 0] + (gx * 0.03 - ux * 0.015 + hx * 0.05) * each
        hy = heading[i, 1] + (gy * 0.03 - uy * 0.015 + hy * 0.05) * each
        length = 1.0 / np.sqrt(hx * hx + hy * hy)
        hx, hy = hx * length, hy * length
        heading[i, 0], heading[i, 1] = hx, hy
        x, y = x + hx, y + hy
        x -= size * np.floor(x / size)
        y -= size * np.floor(y / size)
        place[i, 0], place[i, 1] = x, y
        c = min(int(x * m / size), m - 1) * m + min(int(y * m / size), m - 1)
        if c != b:
            last = counts[b] - 1
            other = rows[b, last]
            rows[b, at[i]], at[other], counts[b] = other, at[i], last
            rows[c, counts[c]], at[i], bucket[i] = i, counts[c], c
            counts[c] += 1


def flocking(count: int, size: float, vision: float, seed: int) -> Step:
    rng, turns, m = np.random.default_rng(seed), Turns(count, seed), int(size / vision)
    place, way = rng.random((count, 2)) * size, rng.random(count) * 2 * np.pi
    heading = np.stack([np.cos(way), np.sin(way)], axis=1)
    bucket = (place * m / size).astype(np.int64) @ np.array([m, 1])
    at, counts = np.zeros(count, np.int64), np.zeros(m * m, np.int64)
    rows = np.zeros((m * m, count), np.int16)
    for i, b in enumerate(bucket.tolist()):
        rows[b, counts[b]], at[i] = i, counts[b]
        counts[b] += 1
    found, ways = np.empty(count + 1, np.int64), np.empty((count + 1, 2))

    def step() -> None:
        words, _ = turns.of(count)
        kept = place, heading, bucket, at, counts, rows
        _fly(words, *kept, m, size, vision, 1.0, found, ways)

    return step


# --- Wolves and sheep --------------------------------------------------------------------------


@jit
def _around(cell: int, side: int, base: Any) -> int:
    """One of the eight cells around."""
    j = below(base, 2, 8)
    j += int(j > 3)
    x, y = cell // side + j // 3 - 1, cell % side + j % 3 - 1
    x = x + side if x < 0 else x - side if x == side else x
    y = y + side if y < 0 else y - side if y == side else y
    return x * side + y


@jit
def _survive(cells: Any, energy: Any, alive: Any, n: int) -> int:
    """Close the holes of the dead, from the end."""
    i = 0
    while i < n:
        if alive[i]:
            i += 1
        else:
            n -= 1
            cells[i], energy[i], alive[i] = cells[n], energy[n], alive[n]
    return n


@jit
def _born(cells: Any, energy: Any, alive: Any, n: int, new: Any, m: int) -> int:
    for k in range(m):
        i = new[k]
        cells[n], energy[n], alive[n] = cells[i], energy[i], True
        n += 1
    return n


@jit
def _graze(
    words: Any,
    key: Any,
    cells: Any,
    energy: Any,
    alive: Any,
    new: Any,
    due: Any,
    side: int,
    tick: int,
    regrowth: int,
    lambs: float,
) -> tuple[int, int]:
    born = dead = 0
    for k in range(len(words)):
        i = int(words[k] & LOW)
        base = mix(U(i) ^ key)
        c = _around(cells[i], side, base)
        cells[i] = c
        e = energy[i]
        if due[c] <= tick:
            e += 4.0
            due[c] = tick + regrowth
        else:
            e -= 1.0
        if e < 0.0:
            alive[i] = False
            dead += 1
        elif chance(base, 3) < lambs:
            e /= 2
            new[born] = i
            born += 1
        energy[i] = e
    return born, dead


@jit
def _stand(cells: Any, n: int, starts: Any, counts: Any, rows: Any) -> None:
    """List the rows of each cell."""
    counts[:] = 0
    for i in range(n):
        counts[cells[i]] += 1
    total = 0
    for c in range(len(counts)):
        starts[c] = total
        total += counts[c]
        counts[c] = 0
    for i in range(n):
        c = cells[i]
        rows[starts[c] + counts[c]] = i
        counts[c] += 1


@jit
def _hunt(
    words: Any,
    key: Any,
    cells: Any,
    energy: Any,
    alive: Any,
    new: Any,
    eaten: Any,
    starts: Any,
    counts: Any,
    rows: Any,
    side: int,
    pups: float,
) -> tuple[int, int, int]:
    born = dead = meals = 0
    for k in range(len(words)):
        i = int(words[k] & LOW)
        base = mix(U(i) ^ key)
        c = _around(cells[i], side, base)
        cells[i] = c
        e = energy[i] - 1.0
        if counts[c] > 0:
            at = starts[c] + below(base, 3, counts[c])
            eaten[rows[at]] = False
            meals += 1
            counts[c] -= 1
            rows[at] = rows[starts[c] + counts[c]]
            e += 13.0
        if e < 0.0:
            alive[i] = False
            dead += 1
        elif chance(base, 4) < pups:
            e /= 2
            new[born] = i
            born += 1
        energy[i] = e
    return born, dead, meals


class _Kind:
    """Animals in arrays."""

    def __init__(self, count: int, most: int, side: int, energy: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.turns = count, Turns(most, seed)
        self.cells = rng.integers(0, side * side, most)
        self.energy, self.alive = rng.random(most) * energy, np.ones(most, np.bool_)
        self.new = np.empty(most, np.int64)

    def change(self, born: int, dead: int) -> None:
        """Let the dead go and the young come, these first: rows of mothers are as before."""
        kept = self.cells, self.energy, self.alive
        if born:
            self.n = _born(*kept, self.n, self.new, born)
        if dead:
            self.n = _survive(*kept, self.n)


def wolf_sheep(
    side: int, sheep: int, wolves: int, regrowth: int, lambs: float, pups: float, seed: int
) -> Step:
    most = 20 * side * side
    flock, pack = _Kind(sheep, most, side, 10, seed), _Kind(wolves, most, side, 26, seed + 1)
    due = np.random.default_rng(seed).integers(1 - regrowth, regrowth, side * side)
    starts, counts = np.empty(side * side, np.int64), np.empty(side * side, np.int64)
    rows, tick = np.empty(most, np.int64), 0

    def step() -> None:
        nonlocal tick
        words, key = flock.turns.of(flock.n)
        kept = flock.cells, flock.energy, flock.alive, flock.new
        flock.change(*_graze(words, key, *kept, due, side, tick, regrowth, lambs))
        _stand(flock.cells, flock.n, starts, counts, rows)
        words, key = pack.turns.of(pack.n)
        kept = pack.cells, pack.energy, pack.alive, pack.new
        born, dead, meals = _hunt(words, key, *kept, flock.alive, starts, counts, rows, side, pups)
        pack.change(born, dead)
        flock.change(0, meals)
        tick += 1

    return step


# --- Schelling ---------------------------------------------------------------------------------


@jit
def _settle(
    words: Any,
    key: Any,
    groups: Any,
    wide: int,
    places: Any,
    happy: Any,
    empty: Any,
    radius: int,
    wanted: int,
) -> None:
    for k in range(len(words)):
        i = int(words[k] & LOW)
        c = places[i]
        own = groups[c]
        alike = -1
        for dx in range(-radius, radius + 1):
            first = c + dx * wide - radius
            for j in range(first, first + 2 * radius + 1):
                alike += int(groups[j] == own)
        happy[i] = alike >= wanted
        if alike < wanted:
            at = below(mix(U(i) ^ key), 2, len(empty))
            new = empty[at]
            empty[at], places[i] = c, new
            groups[c], groups[new] = 0, own


def schelling(side: int, count: int, radius: int, wanted: int, seed: int) -> Step:
    rng, turns, wide = np.random.default_rng(seed), Turns(count, seed), side + 2 * radius
    cells = rng.permutation(side * side)
    places = (cells // side + radius) * wide + cells % side + radius  # in a grid with a border
    places, empty = places[:count].copy(), places[count:].copy()
    groups, happy = np.zeros(wide * wide, np.int8), np.zeros(count, np.bool_)
    groups[places] = 1 + np.arange(count) % 2

    def step() -> None:
        words, key = turns.of(count)
        _settle(words, key, groups, wide, places, happy, empty, radius, wanted)

    return step


# --- Game of Life ------------------------------------------------------------------------------


@jit
def _live(old: Any, new: Any, side: int) -> None:
    for x in range(1, side + 1):
        above, here, below = old[x - 1], old[x], old[x + 1]
        into = new[x]
        for y in range(1, side + 1):
            k = (
                (above[y - 1] + above[y] + above[y + 1])
                + (here[y - 1] + here[y + 1])
                + (below[y - 1] + below[y] + below[y + 1])
            )
            k = np.uint8(k)
            into[y] = np.uint8(k == 3) | (here[y] & np.uint8(k == 2))
        into[0], into[side + 1] = into[side], into[1]
    new[0], new[side + 1] = new[side], new[1]


def life(side: int, seed: int) -> Step:
    alive = (np.random.default_rng(seed).random((side, side)) < 0.3).astype(np.uint8)
    old, new = np.pad(alive, 1, mode="wrap"), np.pad(alive, 1, mode="wrap")

    def step() -> None:
        nonlocal old, new
        _live(old, new, side)
        old, new = new, old

    return step


# --- Boltzmann wealth --------------------------------------------------------------------------


@jit
def _give(words: Any, key: Any, coins: Any) -> None:
    n = len(coins)
    for k in range(len(words)):
        i = int(words[k] & LOW)
        if coins[i] > 0:
            coins[i] -= 1
            coins[below(mix(U(i) ^ key), 2, n)] += 1


@jit
def _gini(counts: Any, n: int) -> float:
    """Of how many have 0, 1, 2 … coins."""
    rank, total, weighted = 0.0, 0.0, 0.0
    for coins in range(len(counts)):
        many = counts[coins]
        weighted += coins * (many * rank + many * (many + 1) / 2)
        total += coins * many
        rank += many
    return 2 * weighted / (n * total) - (n + 1) / n


def boltzmann(count: int, seed: int) -> Step:
    turns, coins = Turns(count, seed), np.ones(count, np.int64)

    def step() -> float:
        _give(*turns.of(count), coins)
        found: float = _gini(np.bincount(coins), count)
        return found

    return step


# --- Sugarscape --------------------------------------------------------------------------------


@jit
def _forage(
    words: Any,
    key: Any,
    cells: Any,
    sugar: Any,
    need: Any,
    vision: Any,
    alive: Any,
    grown: Any,
    taken: Any,
    side: int,
) -> int:
    dead = 0
    candidates = np.empty(4, np.int64)
    for k in range(len(words)):
        i = int(words[k] & LOW)
        c = cells[i]
        x, y, v = c // side, c % side, vision[i]
        best, ties = grown[c], 1
        candidates[0] = c
        ends = min(v, x), min(v, y), min(v, side - 1 - y), min(v, side - 1 - x)
        for d in range(1, v + 1):
            before = best
            for way in range(4):
                if d <= ends[way]:
                    at = c + d * (-side, -1, 1, side)[way]
                    if grown[at] >= best and grown[at] > before and not taken[at]:
                        ties = ties + 1 if grown[at] == best else 1
                        best = grown[at]
                        candidates[ties - 1] = at
        to = candidates[below(mix(U(i) ^ key), 2, ties)]
        taken[c], taken[to], cells[i] = False, True, to
        left = sugar[i] + grown[to] - need[i]
        sugar[i], grown[to] = left, 0
        if left < 0:
            alive[i], taken[to] = False, False
            dead += 1
    return dead


@jit
def _apply_despawns(cells: Any, sugar: Any, need: Any, vision: Any, alive: Any, n: int) -> int:
    i = 0
    while i < n:
        if alive[i]:
            i += 1
        else:
            n -= 1
            cells[i], sugar[i], need[i] = cells[n], sugar[n], need[n]
            vision[i], alive[i] = vision[n], alive[n]
    return n


def sugarscape(limit: NDArray[np.int64], side: int, count: int, seed: int) -> Step:
    rng, turns, n = np.random.default_rng(seed), Turns(count, seed), count
    cells = rng.permutation(side * side)[:count].copy()
    ants = rng.integers(5, 26, count), rng.integers(1, 5, count), rng.integers(1, 6, count)
    alive, taken, grown = np.ones(count, np.bool_), np.zeros(side * side, np.bool_), limit.copy()
    taken[cells] = True

    def step() -> None:
        nonlocal n
        grown[:] = limit
        words, key = turns.of(n)
        if _forage(words, key, cells, *ants, alive, grown, taken, side):
            n = _apply_despawns(cells, *ants, alive, n)

    return step
