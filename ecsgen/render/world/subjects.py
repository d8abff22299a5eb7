"""What the templates of the world's features lay out, there called `it`.

Made here and not by the features: they know nothing of rendering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ecsgen.model import Project
from ecsgen.model.saved import saved_schema, schema_fingerprint, schema_text
from ecsgen.render.printers import drawing_lines
from ecsgen.render.world import kernel_tests
from ecsgen.render.world.kernels import KernelSubject
from ecsgen.render.world.members import bundles, flags, groups
from ecsgen.render.world.queries import chunk_queries, joined_queries
from ecsgen.render.world.schedules import ScheduleSubject
from ecsgen.render.world.shards import shard_names

_BY_FEATURE: Final[dict[str, Callable[[Project], object]]] = {
    "bundles": bundles,
    "chunk_kernels": kernel_tests.chunked_cases,
    "chunk_queries": chunk_queries,
    "groups": groups,
    "kernel_methods": KernelSubject.of,
    "queries": joined_queries,
    "saving": lambda project: schema_fingerprint(schema_text(saved_schema(project))),
    "schedules": ScheduleSubject.of,
    "seeded": lambda project: drawing_lines(project.world.kernels, ""),
    "shards": shard_names,
    "signature": flags,
    "world_kernel_steps": kernel_tests.steps_cases,
    "world_kernels": kernel_tests.joined_cases,
}


def subject_of(feature: str, project: Project) -> object:
    """Return the subject of a feature's template, plain frozen data; None if it needs none.

    The world is made again when its `repr` changes.
    """
    make = _BY_FEATURE.get(feature)
    return None if make is None else make(project)
