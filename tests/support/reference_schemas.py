"""Schemas for the reference interpreter, as the generator writes them for it."""

from __future__ import annotations

import json
from functools import cache

from ecsgen_testing.reference.schema import Schema

from ecsgen.model.reference_schema import make_reference_schema
from tests.support.world_package import load


@cache
def read(text: str) -> Schema:
    """Return what a schema text says, after its way through JSON."""
    return Schema(json.loads(json.dumps(make_reference_schema(load(text)), allow_nan=False)))
