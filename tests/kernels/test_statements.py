"""Loops in kernels that are cut off give a warning, and what belongs to no `if` is an error."""

from __future__ import annotations

from typing import Any

import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import checked, world_package

ENDLESS = """\
component: Body
fields: {k: f64}
kernels: {own: {at_most: 3, steps: ["while k < 100: k += 1"]}}
---
world: Game
kernels: {all_: {over: Body, at_most: 3, steps: ["while Body.k < 100: Body.k += 1"]}}
schedule: {day: [Body.own, tick]}
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("rows", "times"), [(None, "5 times"), ([1, 4], "2 times"), ([3], "once")])
def test_a_loop_that_is_cut_off_gives_a_warning(backend: Backend, rows: Any, times: str) -> None:
    w = world_package(ENDLESS, f"cut_off_{backend}", backend).World()
    w.spawn(5, body={})
    for kernel, name in ((w.body.own, "Body.own"), (w.all_, "all_")):
        message = f"^{name}: 'while .*' went on after 3 passes and was cut off {times}$"
        with pytest.warns(RuntimeWarning, match=message):
            kernel(rows=rows)
    with pytest.warns(RuntimeWarning, match="^Body.own: ") as warned:
        w.day()
    assert warned[0].filename == __file__


@pytest.mark.parametrize("line", ["elif k > 1:", "else:"])
def test_what_goes_on_from_no_if_says_so(line: str) -> None:
    steps = f"      k = 1\n      {line}\n          k = 2\n"
    text = f"component: Body\nfields: {{k: f64}}\nkernels:\n  own:\n    steps: |\n{steps}"
    (error,) = checked(text)[1]
    assert (error.code, error.mark.line) == ("E112", 7)
    assert "it goes on from an 'if' of the same text" in error.hint
