"""How far do groups move apart, by what people want? Schelling's model, run some hundred times.

What everybody wants and how full the town is are parameters, and each pair of them is run with
several seeds, in as many processes as there are cores. Each run that ends is a line of a file, so
whoever stops this and calls it again goes on. At the end there is a picture.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from ecsgen_runtime import Sweep, sweep

sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))

import schelling  # it lies there
from _models import package

COLOURS = {0.6: "#4269d0", 0.8: "#efb118", 0.95: "#ff725c"}


def town(seed: int, wanted: int, full: float, side: int, steps: int) -> dict[str, float]:
    """Run a town for some steps; return which shares are alike, and are content, at its end."""
    world = schelling.town(package("schelling"), side, int(full * side * side), seed)
    for _ in range(steps):
        world.household.settle(1, wanted)
    return {
        "alike": schelling.alike(world),
        "content": world.household.content() / len(world.household),
    }


def by_parameters(s: Sweep, full: float, column: str) -> tuple[Any, Any]:
    """Return the values of `wanted`, and the results for each, shape (wanted, replicates)."""
    c = s.columns
    wanted = np.unique(c["wanted"])
    rows = [c[column][(c["full"] == full) & (c["wanted"] == one)] for one in wanted]
    return wanted, np.array(rows)


def draw(s: Sweep, file: Path) -> None:
    """Draw means over the seeds, and between which values the runs lie."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit("The picture needs matplotlib: pip install matplotlib")
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, column in zip(figure.subplots(1, 2, sharey=True), ("alike", "content"), strict=True):
        for full, colour in COLOURS.items():
            wanted, found = by_parameters(s, full, column)
            axes.plot(wanted, found.mean(1), "o-", ms=4, color=colour, label=f"{full:.0%} full")
            axes.fill_between(wanted, found.min(1), found.max(1), color=colour, alpha=0.2, lw=0)
        axes.set(xlabel="neighbours of one's own group that everybody wants", ylim=(0, 1.03))
        axes.spines[["top", "right"]].set_visible(False)
    left, right = figure.axes
    left.set_title("share of neighbours of one's own group")
    right.set_title("share of households that are content")
    right.legend(frameon=False)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--side", type=int, default=40)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--path", type=Path, help="a file to go on from")
    parser.add_argument("--picture", type=Path, default=Path("sweep.svg"))
    options = parser.parse_args()
    package("schelling")  # says how to make it, if it is not there
    parameters = {
        "wanted": range(9),
        "full": list(COLOURS),
        "side": [options.side],
        "steps": [options.steps],
    }
    s = sweep(town, parameters, replicates=options.replicates, path=options.path)
    print(f"{len(s)} runs, {len(s.errors)} errors")
    print("wanted   alike   content")
    for wanted, alike, content in zip(
        *by_parameters(s, 0.8, "alike"), by_parameters(s, 0.8, "content")[1], strict=True
    ):
        print(f"{wanted:6}   {alike.mean():5.2f}   {content.mean():7.2f}")
    draw(s, options.picture)


if __name__ == "__main__":
    main()
