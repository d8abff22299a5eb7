"""Random worlds and random damage: what is loaded is what was saved, or is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import SnapshotError
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.managers.policies.chains import depths
from ecsgen_runtime.snapshots.content_checks import check_content, checked_documents
from ecsgen_runtime.snapshots.document_checks import check_schema, check_state, check_tensors
from ecsgen_runtime.snapshots.documents import Document, SnapshotContent
from ecsgen_runtime.snapshots.migration import migrate_saved
from ecsgen_runtime.snapshots.reading import read_snapshot
from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz_snapshots import try_one
from tests.snapshots.test_snapshot_policies import VARIANTS, lived
from tests.support.handmade_snapshot import USUAL, field
from tests.support.soak import examples

ENUMS: Document = {
    "Mode": {"type": "u16", "flags": False, "members": {"none": 0, "some": 7, "all": 255}}
}
TYPES = {
    "x": ["f32", "f64", "i32", "bool", "str[3]", "f32[2]"],
    "size": ["u16", "u8", "i32", "f32", "Mode"],
    "pos": ["f32[3]", "f64[5]", "f32[2]", "i8[4]", "u8"],
    "mate": ["entity", "entity", "u64"],
    "name": ["str[8]", "str[20]", "bytes[7]", "str[2]"],
    "mark": ["u8[2]", "u8[3]", "i64[1]"],
}


@cache
def saved(variant: str, seed: int) -> SnapshotContent:
    data = lived(variant, seed).to_bytes()
    return checked_documents(read_snapshot(data, map_pages=False), SnapshotFormat())


@st.composite
def policies(draw: st.DrawFn) -> Document:
    """Return policies that go together."""
    storage = draw(st.sampled_from(["managers", "managers", "managers", "archetypes"]))
    document: Document = {**USUAL, "in": storage}
    if document["in"] == "archetypes":
        return document
    document["owner"] = draw(st.sampled_from(["entity"] * 9 + ["none"]))
    document["ids"] = document["owner"] == "none" or draw(st.booleans())
    if document["owner"] == "entity":
        document["lookup"] = draw(st.sampled_from(["sparse", "hash", "direct"]))
        document["destroy"] = draw(st.sampled_from(["gc", "callback", "manual"]))
    if document["lookup"] == "direct":
        return document
    if document["owner"] == "entity":
        document["instances"] = draw(st.sampled_from(["one", "many", "many"]))
    document["partition"] = draw(st.sampled_from(["", "active", "inactive"]))
    orphans = ["", "root", "destroy", "die" if document["owner"] == "entity" else "root"]
    document["hierarchy"] = draw(st.sampled_from(orphans))
    document["cold"] = draw(st.sampled_from(["inline", "indirect"]))
    if draw(st.booleans()):
        document["ring"] = draw(st.sampled_from([64, 4096]))
    return document


@st.composite
def fields(draw: st.DrawFn) -> Document:
    names = draw(st.permutations([*TYPES, "fresh"]))
    documents: Document = {}
    for name in names:
        kinds = TYPES.get(name, ["i8", "Mode[2]", "str[5]"])
        text = kinds[max(0, draw(st.integers(-20, len(kinds) - 1)))]  # mostly what it was
        shape = text.partition("[")[2].rstrip("]")
        is_text = text.startswith(("str", "bytes"))
        default: Any = [0] * int(shape) if shape else 0
        if is_text:
            default = "" if text[0] == "s" else [0] * int(shape)
        elif text.startswith("bool"):
            default = False
        elif text[0] == "f":
            default = [0.5] * int(shape) if shape else 0.5
        is_split = bool(shape) and not is_text and draw(st.booleans())
        documents[name] = field(text, default, cold=draw(st.booleans()), split=is_split)
    return documents


@st.composite
def schemas(draw: st.DrawFn) -> Document:
    body = {"module": "body", **draw(policies()), "fields": draw(fields())}
    other = {"module": "other", **draw(policies()), "fields": {"v": field("i32")}}
    other["cold"] = "inline"
    can_group = all(
        doc["in"] == "managers"
        and doc["owner"] == "entity"
        and doc["instances"] == "one"
        and doc["lookup"] != "direct"
        and not doc["partition"]
        and "ring" not in doc
        for doc in (body, other)
    )
    index_bits, generation_bits = draw(st.sampled_from([(32, 32), (10, 8), (6, 2)]))
    return {
        "version": 1,
        "entity": {"index_bits": index_bits, "generation_bits": generation_bits},
        "enums": ENUMS,
        "components": {"Body": body, "Other": other},
        "groups": {"pair": ["Body", "Other"]} if can_group and draw(st.booleans()) else {},
    }


def with_maps(new: SnapshotContent) -> SnapshotContent:
    """Return the snapshot with the maps that only mapped worlds use."""
    arrays = dict(new.arrays)
    bits = new.schema["entity"]["index_bits"]
    for doc in new.schema["components"].values():
        if doc["in"] != "managers" or doc["owner"] != "entity" or doc["lookup"] != "sparse":
            continue
        owners = arrays[f"{doc['module']}.entity"]
        rows = np.arange(len(owners))
        if doc["instances"] == "many":
            nexts, previous = (arrays[f"{doc['module']}.{name}"] for name in ("next", "previous"))
            rows = np.flatnonzero(nexts[previous] == NIL)
        index = (owners & np.uint64((1 << bits) - 1)).astype(np.intp)
        table = np.full(int(index.max()) + 1 if len(index) else 0, NIL, np.uint32)
        table[index[rows]] = rows
        arrays[f"{doc['module']}._map"] = table
    return replace(new, arrays=arrays)


@given(
    st.sampled_from([name for name in VARIANTS if name != "nobody"]),
    st.integers(1, 3),
    schemas(),
    st.sampled_from([("body.entity", "other.entity")] * 9 + [()]),
)
@settings(max_examples=examples(60))
def test_what_is_loaded_is_true(
    variant: str, seed: int, schema: Document, drop: tuple[str, ...]
) -> None:
    check_schema(schema, "schema", SnapshotFormat())
    old = saved(variant, seed)
    try:
        new = migrate_saved(old, SnapshotFormat(), schema, {}, drop)
    except SnapshotError as error:
        assert str(error).startswith("<bytes>: ")  # noqa: PT017
        return
    assert new.schema == schema
    new = with_maps(new)
    check_state(new, SnapshotFormat())
    check_tensors(new, SnapshotFormat())
    check_content(new, SnapshotFormat())
    again = migrate_saved(new, SnapshotFormat(), {**schema, "version": 2}, {})
    assert again.state == new.state
    for name, array in again.arrays.items():
        assert array is new.arrays[name] or array.tolist() == new.arrays[name].tolist()


@given(st.lists(st.integers(0, 5), max_size=30), st.randoms())
def test_ranks_are_distances_to_the_end(lengths: list[int], random: Any) -> None:
    rows = list(range(sum(lengths)))
    random.shuffle(rows)
    nexts = np.full(len(rows), NIL, np.uint32)
    wanted: dict[int, int] = {}
    for length in lengths:
        chain = [rows.pop() for _ in range(length)]
        for row, following in pairwise(chain):
            nexts[row] = following
        wanted |= {row: length - 1 - rank for rank, row in enumerate(chain)}
    assert depths(nexts).tolist() == [wanted[row] for row in range(len(nexts))]


_BLOCK = 40


@pytest.mark.parametrize("start", range(0, 200, _BLOCK))
def test_what_is_broken_is_refused_or_loads_as_it_is(start: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(start, start + _BLOCK):
        try:
            outcomes[try_one(seed)] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}: python -m tests.fuzz_snapshots 1 --start {seed}")
            raise
    kinds = {outcome.partition(":")[0] for outcome in outcomes}
    assert {"bytes", "cells"} <= kinds
