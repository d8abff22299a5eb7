"""Bundles: their members, and circles among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.schema.drafts import Draft
from ecsgen.schema.language.component import ComponentSpec
from ecsgen.schema.language.world import WorldSpec
from ecsgen.schema.names import module_name
from ecsgen.schema.policies import check_owned


def check_bundles(
    draft: Draft[WorldSpec],
    components: Mapping[str, Draft[ComponentSpec]],
    diagnostics: Diagnostics,
) -> None:
    """Report E501, E504, E507 and E509."""
    bundles = draft.spec.bundles
    known = (*bundles, *components)
    for bundle, names in bundles.items():
        where = f"bundle {quote(bundle)}"
        seen: set[str] = set()
        for index, name in enumerate(names):
            mark = draft.value("bundles", bundle, index)
            component = components.get(name)
            if name in seen:
                diagnostics.add("E509", f"{quote(name)} stands twice in {where}", mark)
            elif component is None and name not in bundles:
                message = f"unknown component or bundle {quote(name)} in {where}"
                diagnostics.add("E501", message, mark, hint=did_you_mean(name, known))
            elif component is not None:
                check_owned(component, where, mark, diagnostics)
            seen.add(name)
    modules = {module_name(name) for name in components}
    for circle in _circles(bundles):
        if any(name != name.lower() or name in modules for name in circle):
            continue  # the name is a mistake already, and a component may be meant
        path = " → ".join((*circle, circle[0]))
        index = bundles[circle[0]].index(circle[1 % len(circle)])
        mark = draft.value("bundles", circle[0], index)
        message = f"the bundle {quote(circle[0])} is within itself: {quote(path, 200)[1:-1]}"
        diagnostics.add("E504", message, mark)


def _circles(bundles: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Circles of bundles, at least one of each knot. Without recursion, in one pass."""
    circles: list[list[str]] = []
    finished: set[str] = set()
    for start in bundles:
        path: dict[str, Iterator[str]] = {}
        current: str | None = None if start in finished else start
        while current is not None or path:
            if current is not None:
                path[current] = iter(bundles[current])
            last = next(reversed(path))
            current = next((name for name in path[last] if name in bundles), None)
            if current is None:
                finished.add(last)
                del path[last]
            elif current in path:
                names = list(path)
                circles.append(names[names.index(current) :])
                current = None
            elif current in finished:
                current = None
    return circles
