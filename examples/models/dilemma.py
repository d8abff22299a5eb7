"""The prisoner's dilemma on a grid: a kaleidoscope at once, in turns nobody to trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from _models import options, package, squares


def players(made: Any, side: int, prize: float, seed: int) -> Any:
    """Return the world of a torus on which all cooperate but the one in the middle."""
    world = made.World(player=(side, side))
    world.seed = seed
    world.player.data.cooperates.reshape(side, side)[side // 2, side // 2] = False
    world.player.play(prize)
    return world


def at_once(world: Any, prize: float) -> None:
    """Let all imitate at once, and play again."""
    world.player.imitate()
    world.player.play(prize)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, side=65, prize=1.9, steps=30)
    made = package("dilemma")
    together, apart = (players(made, chosen.side, chosen.prize, chosen.seed) for _ in range(2))
    before = together.player.data.cooperates
    print("step   cooperating at once   in turns")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            counts = together.player.cooperating(), apart.player.cooperating()
            print(f"{step:4}   {counts[0]:19}   {counts[1]:8}")
        if step < chosen.steps:
            before = together.player.data.cooperates.copy()
            at_once(together, chosen.prize)
            apart.player.take_turns(chosen.prize)
    shown = (1 + together.player.data.cooperates + 2 * before).reshape(chosen.side, chosen.side)
    # Who defects, cooperates again, no more, and still.
    colours = ["#b5482f", "#3f8f4f", "#efb118", "#4269d0"]
    chosen.svg.write_text(squares(shown, colours), encoding="utf-8")


if __name__ == "__main__":
    main()
