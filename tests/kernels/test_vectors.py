"""Costly operands of functions of vectors are worked out once; `interpreted/vectors.yaml` and
`vector_functions.yaml` are about what they give."""

from __future__ import annotations

from ecsgen.config import BACKENDS
from tests.support.world_package import load, sources

FIELDS = """\
component: Body
fields: {x: f32, wide: f64, place: "f32[2]", out_exact: "f64[2]", out_x: f32}
kernels:
"""


def test_costly_operands_are_worked_out_once() -> None:
    steps = ["out_exact = rotate(vec(sqrt(wide), 1), exp(x))", "out_x = angle(normalize(place))"]
    kernel = f"  once: {{steps: [{', '.join(map(repr, steps))}]}}\n"
    for backend in BACKENDS:
        text = sources(load(FIELDS + kernel), backend)["body.py"]
        for function in ("np.exp", "np.cos", "np.sin"):
            assert text.count(f"{function}(") == 1
