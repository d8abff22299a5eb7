"""Verified content: each structure is right, then one cell is not, and the check names it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import reduce
from hashlib import sha256
from operator import getitem
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import SnapshotError
from ecsgen_runtime.snapshots.content_checks import check_content, checked_documents
from ecsgen_runtime.snapshots.document_checks import check_schema, check_state, check_tensors
from ecsgen_runtime.snapshots.documents import Document, SnapshotContent
from ecsgen_runtime.snapshots.reading import SnapshotFile, read_snapshot
from ecsgen_runtime.snapshots.row_checks import row_on_way_round
from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat
from ecsgen_runtime.snapshots.writing import FilePlan, single

from tests.support.handmade_snapshot import (
    EXHAUSTED_GENERATION,
    NIL,
    Arrays,
    entity,
    field,
    rows,
    texts,
    town,
)


def check(saved: SnapshotContent) -> None:
    check_schema(saved.schema, saved.name, SnapshotFormat())
    check_state(saved, SnapshotFormat())
    check_tensors(saved, SnapshotFormat())
    check_content(saved, SnapshotFormat())


def refused(saved: SnapshotContent, message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        check(saved)
    text = str(caught.value)
    assert text.startswith("town.snap: ")
    assert re.search(message, text.removeprefix("town.snap: ")), text


def arrays(saved: SnapshotContent) -> Arrays:
    assert isinstance(saved.arrays, dict)
    return saved.arrays


def test_what_is_right_passes() -> None:
    check(town())


def test_nothing_passes() -> None:
    saved = town()
    for name, array in arrays(saved).items():
        arrays(saved)[name] = array[:0]
    for numbers in saved.state.values():
        for name in numbers:
            numbers[name] = 0
    saved.state["spark"]["first_generation"] = 1
    saved.state["trail"]["oldest"] = NIL
    saved.state["archetypes"]["tables"] = []
    del arrays(saved)["body._rng"]
    check(saved)
    arrays(saved)["entities.free"] = rows(0)
    refused(saved, r"^entities\.free\[0\]: index 0 is not free$")


def test_arrays_may_be_read_only_and_are_never_changed() -> None:
    saved, other = town(), town()
    for array in arrays(saved).values():
        array.flags.writeable = False
    check(saved)
    assert all((saved.arrays[k] == v).all() or k == "card.price" for k, v in other.arrays.items())


# tensor, cell, what it holds instead, what is said then
CELLS: list[tuple[str, Any, Any, str]] = [
    # entities
    ("entities.handles", 3, entity(4), r"^entities\.handles\[3\]: 0x100000004 is no handle"),
    ("entities.handles", 3, 3, r"^entities\.handles\[3\]: 0x3 is no handle"),
    ("entities.handles", 3, entity(3) ^ 1, r"^entities\.handles\[3\]: its index waits nowhere"),
    ("entities.handles", 3, 2, r"^entities\.handles: 2 are retired, the state says 1"),
    ("entities.handles", 7, entity(7, 2), r"^entities\.free\[1\]: index 7 is not free"),
    ("entities.free", 0, 7, r"^entities\.free: an index waits twice"),
    ("entities.free", 0, 3, r"^entities\.free\[0\]: index 3 is not free"),
    ("entities.free", 0, 9, r"^entities\.free\[0\]: index 9 is not free"),
    ("entities.free", 0, 10, r"^entities\.free\[0\]: index 10 is not free"),
    # owners
    ("body.entity", 3, entity(7, 2), r"^body\.entity\[3\]: entity 7v2 \(8589934599\) was never"),
    ("body.entity", 3, entity(7, 0), r"^body\.entity\[3\]: entity 7v0 \(7\) was never created"),
    ("body.entity", 3, entity(10), r"^body\.entity\[3\]: entity 10v1 \(4294967306\) was never"),
    ("body.entity", 3, 0, r"^body\.entity\[3\]: entity 0v0 \(0\) was never created"),
    ("body.entity", 1, entity(2, 3), r"^body\.entity\[1\]: entity 2v3 \(12884901890\) was never"),
    ("body.entity", 3, entity(7, 2) ^ 1, r"^body\.entity\[3\]: .* was never created"),
    ("follow.entity", 0, entity(7), r"^follow\.entity\[0\]: entity 7v1 \(\d+\) is not alive"),
    ("follow.entity", 0, entity(2, 2), r"^follow\.entity\[1\]: .* is there twice"),
    ("follow.entity", 1, entity(2), r"^follow\.entity\[1\]: entity 2v1 \(\d+\) is not alive"),
    ("card.entity", 0, entity(8, 2), r"^card\.entity\[1\]: entity 8v2 \(\d+\) is there twice"),
    ("archetypes.entity", 0, entity(7), r"^archetypes\.entity\[0\]: .* is not alive"),
    ("archetypes.entity", 0, entity(1), r"^archetypes\.entity\[1\]: .* is there twice"),
    # maps
    ("body.entity", 1, entity(0), r"^body\._map\[0\]: the row of this index is 1"),
    ("body._map", 0, 1, r"^body\._map\[0\]: the row of this index is 0"),
    ("body._map", 0, NIL, r"^body\._map\[0\]: the row of this index is 0"),
    ("body._map", 1, 0, r"^body\._map\[1\]: no row has an owner of this index"),
    ("part._map", 0, 2, r"^part\._map\[0\]: the row of this index is 0"),
    ("body.entity", 3, entity(6), r"^body\._map: 8 cells, the highest owner needs 7"),
    # chains
    ("part.next", 0, 5, r"^part\.next\[0\]: 5 is none of 5 rows"),
    ("part.previous", 0, 5, r"^part\.previous\[0\]: 5 is none of 5 rows"),
    ("part.previous", 0, NIL, r"^part\.previous\[0\]: 4294967295 is none of 5 rows"),
    ("part.next", 0, 3, r"^part\.next\[0\]: row 3 does not lead back"),
    ("part.next", 0, NIL, r"^part\._map\[0\]: the row of this index is 2"),
    ("part.next", 3, 0, r"^part\.next\[0\]: leads round in a circle"),
    ("part.previous", 0, 4, r"^part\.previous\[0\]: row 4 is another's"),
    ("part.previous", 0, 2, r"^part\.previous\[0\]: row 2 is not the last"),
    ("part.previous", 2, 3, r"^part\.next\[0\]: row 2 does not lead back"),
    ("part.entity", 2, entity(1), r"^part\.previous\[2\]: row 0 is another's"),
    ("sound.entity", 1, entity(7), r"^sound\.entity\[1\]: .* is there twice"),
    # rings
    ("trail.newer", 0, 1, r"^trail\.newer\[0\]: leads round in a circle"),
    ("trail.newer", 1, NIL, r"^trail\.older\[2\]: more than one is the oldest"),
    ("trail.older", 1, 2, r"^trail\.older\[1\]: row 2 is not the last"),
    ("trail.older", 2, 2, r"^trail\.newer\[1\]: row 2 does not lead back"),
    # trees
    ("node.parent", 1, 5, r"^node\.parent\[1\]: 5 is none of 5 rows"),
    ("node.first_child", 1, 5, r"^node\.first_child\[1\]: 5 is none of 5 rows"),
    ("node.parent", 0, 3, r"^node\.first_child\[3\]: its first child is 0"),
    ("node.parent", 4, 4, r"^node\.first_child\[4\]: its first child is 4"),
    ("node.parent", 2, 1, r"^node\.previous_sibling\[1\]: row 2 is another's"),
    ("node.parent", 3, NIL, r"^node\.first_child\[1\]: it has no child"),
    ("node.first_child", 0, 2, r"^node\.first_child\[0\]: its first child is 1"),
    ("node.first_child", 0, NIL, r"^node\.first_child\[0\]: its first child is 1"),
    ("node.first_child", 4, 3, r"^node\.first_child\[4\]: it has no child"),
    ("node.next_sibling", 4, 0, r"^node\.next_sibling\[4\]: row 0 does not lead back"),
    ("node.next_sibling", 2, 1, r"^node\.next_sibling\[1\]: leads round in a circle"),
    ("node.previous_sibling", 4, 0, r"^node\.previous_sibling\[4\]: a root has no siblings"),
    ("node.previous_sibling", 1, 1, r"^node\.previous_sibling\[1\]: row 1 is not the last"),
    # ids
    ("spark.id_slot", 0, 6, r"^spark\.id_slot\[0\]: 6 is none of 6 rows"),
    ("spark.id_slot", 0, 0, r"^spark\.id_slot\[0\]: slot 0 is not that of row 0"),
    ("spark.id_slot", 3, 5, r"^spark\.id_slot: a slot is there twice"),
    ("spark.id_slot", 3, 4, r"^spark\.id_slot: a slot is there twice"),
    ("spark.id_slot", 3, 3, r"^spark\.id_generation\[1\]: neither used, free nor worn out"),
    ("spark.id_row", 4, 1, r"^spark\.id_slot\[0\]: slot 4 is not that of row 0"),
    ("spark.id_row", 1, 0, r"^spark\.id_row\[1\]: no row has this slot"),
    ("spark.id_row", 3, 9, r"^spark\.id_row\[3\]: no row has this slot"),
    ("spark.id_generation", 3, 5, r"^spark\.id_generation\[3\]: neither used, free nor worn"),
    ("spark.id_generation", 0, 0, r"^spark\.id_generation\[0\]: ids begin with 1"),
    # direct
    ("tile.entity", 3, 0, r"^tile\.entity\[3\]: the last row has no owner"),
    ("tile.entity", 0, entity(1), r"^tile\.entity\[0\]: entity 1v1 \(4294967297\) has another row"),
    ("tile.entity", 3, entity(3, 2), r"^tile\.entity\[3\]: .* was never created"),
    ("tile.id_generation", 2, 0, r"^tile\.id_generation\[2\]: ids begin with 1"),
    ("tile.id_generation", 5, 0, r"^tile\.id_generation\[5\]: no instance was ever here"),
    # cold rows
    ("villager.cold_row", 0, 2, r"^villager\.cold_row\[0\]: 2 is none of 2 rows"),
    ("villager.cold_row", 0, 1, r"^villager\.cold_row\[0\]: another row has this one"),
    ("villager.cold_row", 1, 0, r"^villager\.cold\.row\[1\]: row 1 has another one"),
    ("villager.cold.row", 0, 4, r"^villager\.cold\.row\[0\]: 4 is none of 4 rows"),
    ("villager.cold.row", 0, NIL, r"^villager\.cold\.row\[0\]: 4294967295 is none of 4 rows"),
    ("villager.cold.row", 0, 1, r"^villager\.cold\.row\[0\]: row 1 has another one"),
    # generators
    ("body._rng", 624, 625, r"^body\._rng\[624\]: 625 is no position"),
    ("body._rng", slice(None), 0, r"^body\._rng\[0\]: no generator ever gets there"),
    # cells
    ("body.mode", 2, 6, r"^body\.mode\[2\]: 6 is no member"),
    ("body.mode", 2, 65535, r"^body\.mode\[2\]: 65535 is no member"),
    ("body.kinds", (3, 0), 3, r"^body\.kinds\[3\]: 3 is no member"),
    ("body.access", 1, 2, r"^body\.access\[1\]: 2 has bits that are no flags"),
    ("tile.sign", 0, 0, r"^tile\.sign\[0\]: 0 is no member"),
    ("tile.sign", 3, 10, r"^tile\.sign\[3\]: 10 is no member"),
    ("body.label", (2, 1), 0, r"^body\.label\[2\]: text with a NUL in it"),
    ("body.label", (2, 3), 0xC3, r"^body\.label\[2\]: text that is not UTF-8"),
    ("body.label", (1, 1), 0x41, r"^body\.label\[1\]: text that is not UTF-8"),
    ("villager.cold.nick", (1, 0), 0xFF, r"^villager\.cold\.nick\[1\]: text that is not UTF-8"),
    ("body.handle._lengths", 0, -2, r"^body\.handle\._lengths\[0\]: -2 of 5 bytes"),
    ("body.handle._lengths", 0, 6, r"^body\.handle\._lengths\[0\]: 6 of 5 bytes"),
    ("body.handle._lengths", 0, 2**62, r"^body\.handle\._lengths\[0\]: \d+ of 5 bytes"),
    ("body.handle._lengths", 0, 3, r"^body\.handle\._lengths: they do not make up 5 bytes"),
    ("body.handle._lengths", 0, -1, r"^body\.handle\._lengths: they do not make up 5 bytes"),
    ("card.price", 2, 1, r"^card\.price\[2\]: another row has this value"),
    ("card.name", (2, 1), 0, r"^card\.name\[2\]: another row has this value"),
]


@pytest.mark.parametrize(("tensor", "cell", "value", "message"), CELLS, ids=range(len(CELLS)))
def test_a_wrong_cell_is_named(tensor: str, cell: Any, value: Any, message: str) -> None:
    saved = town()
    saved.arrays[tensor][cell] = value
    refused(saved, message)


def test_bools_are_looked_at_as_bytes() -> None:
    saved = town()
    arrays(saved)["body.flag"].view(np.uint8)[2, 1] = 2
    refused(saved, r"^body\.flag\[2\]: 2 is no bool; verify=False loads it all the same$")


def test_bools_of_arrays_are_too() -> None:
    saved = town()
    saved.state["arrays"] = ["seen", "once"]
    arrays(saved)["world.once"] = np.array(True)
    arrays(saved)["world.seen"] = seen = np.zeros((2, 3), np.bool_)
    check(saved)
    seen.view(np.uint8)[1, 1] = 2
    refused(saved, r"^world\.seen\[4\]: 2 is no bool; verify=False loads it all the same$")


def test_characters_of_two_rows_make_none_together() -> None:
    saved = town()
    label = arrays(saved)["body.label"]
    label[:] = texts(4, "", "", "", "")
    label[1] = [65, 66, 67, 0xC3]
    label[2, 0] = 0xBC
    message = r"^body\.label\[1\]: text that is not UTF-8: b'ABC\\xc3', also in row 2; verify=False"
    refused(saved, message)


def test_groups_are_in_step_and_complete() -> None:
    saved = town()
    for tensor in ("entity", "_map"):
        arrays(saved)[f"vel.{tensor}"] = saved.arrays[f"pos.{tensor}"].copy()
    refused(saved, r"^pos\.entity\[2\]: has all of bodies, but is not in it$")
    saved.state["groups"]["bodies"] = 3
    check(saved)
    vel = arrays(saved)["vel.entity"]
    vel[:2] = vel[1::-1]
    arrays(saved)["vel._map"][[1, 3]] = [1, 0]
    refused(saved, r"^vel\.entity\[0\]: not in step with pos in bodies$")


def test_a_parents_circle_is_found_though_siblings_are_right() -> None:
    saved = town()
    saved.arrays["node.parent"][:] = [3, 0, 0, 1, NIL]
    saved.arrays["node.first_child"][:] = [1, 3, NIL, 0, NIL]
    refused(saved, r"^node\.parent\[\d\]: leads round in a circle$")


def test_two_chains_of_one_owner_are_refused() -> None:
    saved = town()
    saved.arrays["part.next"][:] = [2, 4, NIL, NIL, NIL]
    saved.arrays["part.previous"][:] = [2, 4, 0, 3, 1]
    refused(saved, r"^part\._map\[0\]: the row of this index is ")
    saved = town()
    saved.arrays["sound.next"][:] = NIL
    saved.arrays["sound.previous"][:] = [0, 1, 2, 3]
    refused(saved, r"^sound\.entity\[3\]: entity 8v2 \(8589934600\) is there twice$")


def test_long_chains_take_few_rounds() -> None:
    n = 100_000
    links = np.arange(1, n + 1, dtype=np.uint32)
    links[-1] = NIL
    assert row_on_way_round(links) == NIL
    links[-1] = n // 2
    assert row_on_way_round(links) != NIL
    assert row_on_way_round(links[:0]) == NIL
    assert row_on_way_round(rows(0)) == 0


def without(*names: str) -> SnapshotContent:
    saved = town()
    for name in names:
        del arrays(saved)[name]
    return saved


def test_tensors_are_all_there_and_no_others() -> None:
    pair = {"body.handle", "body.handle._lengths"}
    optional = {"entities.noted", "body._rng", "world.name"} | pair
    check(without(*optional))
    for name in {*town().arrays} - optional | pair:
        refused(without(name), rf"^{re.escape(name)}: there is no such tensor$")
    others = ("body.more", "spark.entity", "spark._map", "card._map", "card._rng", "x", "world.")
    for name in others:
        saved = town()
        arrays(saved)[name] = np.zeros(3, np.uint8)
        refused(saved, rf"^'{re.escape(name)}': the schema has no such tensor$")


@pytest.mark.parametrize("name", town().arrays)
def test_tensors_are_of_the_type_and_shape_that_the_schema_asks_for(name: str) -> None:
    array = town().arrays[name]
    kinds = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
    zeros = np.zeros_like(array)
    others = [zeros.astype(kind) for kind in kinds if np.dtype(kind) != array.dtype]
    others.append(array[..., np.newaxis])
    if name not in ("entities.handles", "entities.free", "entities.noted", "world.name"):
        others.append(np.concatenate([array, array[:1]]))
        others.append(array[:-1])
    for other in others:
        saved = town()
        arrays(saved)[name] = other
        refused(saved, rf"^{re.escape(name)}.*: ")


def test_tensors_of_two_things_have_two_names() -> None:
    saved = town()
    saved.schema["components"]["Body"]["fields"]["entity"] = field("f32", 0.0)
    refused(saved, r"^body\.entity: the schema has two of this name$")


def numbers(state: Document) -> list[tuple[str, str]]:
    return [(part, name) for part in state for name in state[part] if part != "attributes"]


@pytest.mark.parametrize(("part", "name"), numbers(town().state))
def test_numbers_of_the_state(part: str, name: str) -> None:
    wrong: list[Any] = [True, 1.0, "1", None, -1, 2**63, [], {}]
    if name == "tables":
        wrong = [None, {}, [3], [[["Health"]]]]
    for number in wrong:
        saved = town()
        saved.state[part][name] = number
        refused(saved, rf"^state\.{part}\.{name}.*: ")
    saved = town()
    del saved.state[part][name]
    refused(saved, rf"^state\.{part}: there is no {name}$")


NUMBERS: list[tuple[str, str, Any, str]] = [
    ("spark", "n_active", 4, r"^state\.spark\.n_active: 4, wanted 0 to 3$"),
    ("spark", "slots", 7, r"^state\.spark\.slots: 7, wanted 3 to 6$"),
    ("spark", "slots", 2, r"^state\.spark\.slots: 2, wanted 3 to 6$"),
    ("spark", "peak", 2, r"^state\.spark\.peak: 2, wanted 3 to "),
    ("spark", "first_generation", 0, r"^state\.spark\.first_generation: 0, wanted 1 to "),
    ("spark", "first_generation", EXHAUSTED_GENERATION + 1, r"^state\.spark\.first_generation: "),
    ("villager", "n_cold", 5, r"^state\.villager\.n_cold: 5, wanted 0 to 4$"),
    ("trail", "n", 4, r"^state\.trail\.n: 4, wanted 0 to 3$"),
    ("trail", "oldest", 0, r"^trail\.older: the state says that row 0 is the oldest$"),
    ("trail", "oldest", NIL, r"^trail\.older: the state says that row 4294967295 is the oldest$"),
    ("groups", "bodies", 4, r"^state\.groups\.bodies: 4, wanted 0 to 3$"),
    ("groups", "bodies", 1, r"^pos\.entity\[1\]: has all of bodies, but is not in it$"),
    ("groups", "bodies", 3, r"^vel\.entity\[2\]: not in step with pos in bodies$"),
    ("entities", "n_retired", 0, r"^entities\.handles: 1 are retired, the state says 0$"),
    ("body", "n", 2**32 - 1, r"^state\.body\.n: 4294967295, wanted 0 to 4294967232$"),
    ("body", "n", 3, r"^body\.entity: uint64 of shape \[4\], wanted uint64 of shape \[3\]$"),
    ("body", "more", 3, r"^state\.body: 'more' is not known$"),
    ("archetypes", "tables", [[["Health", "Armor"], 3]], r"tables\[0\]: .* in another order"),
    ("archetypes", "tables", [[[], 3]], r"tables\[0\]: .* or none"),
    ("archetypes", "tables", [[["Body"], 3]], r"tables\[0\]: .* are not all components in chunks"),
    ("archetypes", "tables", [[["Health"], 1], [["Health"], 2]], r"tables\[1\]: .* again"),
    ("archetypes", "tables", [[["Health"], True]], r"tables\[0\]\.rows: True, wanted"),
    ("archetypes", "tables", [[["Health"], 3]], r"^armor\.points: .* shape \[2\], wanted .* \[0\]"),
    *(
        ("body", "wrap", wrap, rf"^state\.body\.wrap: {message}$")
        for wrap, message in (
            (2.0, "wanted a list of one to three sizes"),
            ([], "wanted a list of one to three sizes"),
            ([1.0, -1.0], r"-1\.0, wanted finite floats from 0"),
            ([1, 2], "1, wanted finite floats from 0"),
            ([math.inf, 1.0], "inf, wanted finite floats from 0"),
            ([1.0, math.nan], "nan, wanted finite floats from 0"),
        )
    ),
    *(
        (part, name, value, rf"^state\.{part}\.{message}")
        for part in ("body", "world")
        for name, value, message in (
            ("seed", -1, r"seed: -1, wanted 0 to \d+$"),
            ("seed", 2**64, r"seed: \d+, wanted 0 to \d+$"),
            ("seed", True, r"seed: True, wanted 0 to \d+$"),
            ("calls", [], r"calls: wanted an object$"),
            ("calls", {"shake": -1}, r"calls\.shake: -1, wanted 0 to \d+$"),
            ("calls", {"shake": 1.0}, r"calls\.shake: 1\.0, wanted 0 to \d+$"),
        )
    ),
    ("world", "luck", 1, r"^state\.world: 'luck' is not known$"),
]


@pytest.mark.parametrize(("part", "name", "number", "message"), NUMBERS, ids=range(len(NUMBERS)))
def test_numbers_that_do_not_go_together(part: str, name: str, number: Any, message: str) -> None:
    saved = town()
    saved.state.setdefault(part, {})[name] = number
    refused(saved, message)


@pytest.mark.parametrize("part", ["body", "world"])
@pytest.mark.parametrize(
    "notes", [{"seed": 2**64 - 1}, {"calls": {"shake": 5}}, {"seed": 1, "calls": {}}]
)
def test_seeds_and_calls_of_a_manager_and_of_the_world(part: str, notes: Document) -> None:
    saved = town()
    saved.state.setdefault(part, {}).update(notes)
    check(saved)


@pytest.mark.parametrize("wrap", [[0.0, 2.5], [1.0, 0.0, 3e30]])
def test_a_space_goes_round_finite_sizes_from_0(wrap: list[float]) -> None:
    saved = town()
    saved.state["body"]["wrap"] = wrap
    check(saved)


def test_parts_of_the_state() -> None:
    for part in (*town().state, "world"):
        saved = town()
        saved.state[part] = []
        refused(saved, rf"^state\.{part}: wanted an object$")
        del saved.state[part]
        if part != "world":
            refused(saved, rf"^state: there is no {part}$")
    saved = town()
    saved.state["more"] = {}
    refused(saved, r"^state: 'more' is not known$")


def at(*path: str | int, value: Any) -> Callable[[Document], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


def of(component: str, *path: str | int, value: Any) -> Callable[[Document], None]:
    return at("components", component, *path, value=value)


def body(name: str, key: str, value: Any) -> Callable[[Document], None]:
    return of("Body", "fields", name, key, value=value)


SCHEMAS: list[tuple[Callable[[Document], None], str]] = [
    (at("version", value=-1), r"^schema\.version: -1, wanted"),
    (at("more", value=1), r"^schema: 'more' is not known"),
    (at("entity", value=[]), r"^schema\.entity: wanted an object"),
    (at("entity", "index_bits", value=33), r"^schema\.entity\.index_bits: 33, wanted 1 to 32"),
    (at("entity", "index_bits", value=True), r"^schema\.entity\.index_bits: True, wanted"),
    (at("entity", "generation_bits", value=33), r"generation_bits: 33, wanted 1 to 32"),
    (at("enums", value=3), r"^schema\.enums: wanted an object"),
    (at("enums", "a b", value={}), r"^schema\.enums: 'a b' is no name"),
    (at("enums", "Kind", "type", value="i8"), r"^schema\.enums\.Kind\.type: 'i8', wanted one of"),
    (at("enums", "Kind", "flags", value=0), r"^schema\.enums\.Kind\.flags: 0, wanted one of"),
    (at("enums", "Kind", "members", value={}), r"^schema\.enums\.Kind: there are no members"),
    (at("enums", "Kind", "members", "d", value=256), r"members\.d: 256, wanted 0 to 255"),
    (of("Body", "module", value="part"), r"^schema\.components\.Part\.module: 'part' is there"),
    (of("Body", "module", value="../x"), r"^schema\.components\.Body\.module: '../x' is no name"),
    (of("Body", "module", value=3), r"^schema\.components\.Body\.module: 3 is no name"),
    (of("Body", "in", value="chunks"), r"^schema\.components\.Body\.in: 'chunks', wanted one of"),
    (of("Body", "ids", value=1), r"^schema\.components\.Body\.ids: 1, wanted one of"),
    (of("Body", "ids", value={}), r"^schema\.components\.Body\.ids: {}, wanted one of"),
    (of("Body", "more", value=1), r"^schema\.components\.Body: 'more' is not known"),
    (of("Trail", "ring", value=0), r"^schema\.components\.Trail\.ring: 0, wanted"),
    (of("Tile", "ring", value=3), r"^schema\.components\.Tile: 'lookup: direct' goes with"),
    (of("Spark", "lookup", value="hash"), r"^schema\.components\.Spark: 'owner: none' has ids"),
    (body("mode", "type", "f33"), r"fields\.mode\.type: 'f33' is no field type"),
    (body("mode", "type", 3), r"fields\.mode\.type: 3 is no field type"),
    (body("mode", "type", "object[3]"), r"fields\.mode\.type: 'object\[3\]' is no field type"),
    (body("mode", "type", "str[65537]"), r"fields\.mode\.type: .* is no field type"),
    (body("mode", "type", "u8[99,99]"), r"fields\.mode\.type: .* is no field type"),
    (body("mode", "type", "id<Body>"), r"fields\.mode\.type: 'Body' has no ids"),
    (body("mode", "type", "id<Nobody>"), r"fields\.mode\.type: 'Nobody' has no ids"),
    (body("mode", "default", 6), r"fields\.mode\.default: 6 is no value of Mode"),
    (body("mode", "default", True), r"fields\.mode\.default: True is no value of Mode"),
    (body("access", "default", 2), r"fields\.access\.default: 2 is no value of Access"),
    (body("access", "default", -1), r"fields\.access\.default: -1 is no value of Access"),
    (body("flag", "default", [1, 0]), r"fields\.flag\.default: \[1, 0\] is no value"),
    (body("flag", "default", [True]), r"fields\.flag\.default: \[True\] is no value"),
    (body("flag", "default", True), r"fields\.flag\.default: True is no value"),
    (body("label", "default", "abcde"), r"fields\.label\.default: 'abcde' is no value"),
    (body("label", "default", "a\0b"), r"fields\.label\.default: .* is no value"),
    (body("label", "default", "\ud800"), r"fields\.label\.default: .* is no value"),
    (body("digest", "default", [1]), r"fields\.digest\.default: \[1\] is no value"),
    (body("digest", "default", [1, 256]), r"fields\.digest\.default: \[1, 256\] is no value"),
    (body("place", "default", [0, 0, "nan"]), r"fields\.place\.default: .* is no value"),
    (body("place", "default", [0, 0, 1e39]), r"fields\.place\.default: .* is no value"),
    (body("handle", "default", 0), r"fields\.handle\.default: 0 is no value of object"),
    (body("mode", "split", True), r"fields\.mode\.split: only of a shape"),
    (body("mode", "split", 1), r"fields\.mode\.split: 1, wanted one of"),
    (body("mode", "unit", 1), r"fields\.mode\.unit: wanted a string"),
    (body("place", "unique", True), r"fields\.place\.unique: only of one value"),
    (body("mode", "unique", False), r"fields\.mode\.unique: False, wanted"),
    (body("mode", "more", 1), r"fields\.mode: 'more' is not known"),
    (of("Body", "fields", "a.b", value={}), r"fields: 'a\.b' is no name"),
    (at("groups", "bodies", value=["Pos"]), r"^schema\.groups\.bodies: wanted a list"),
    (at("groups", "bodies", value=["Pos", "Pos"]), r"'Pos' is none, or is in a group already"),
    (at("groups", "bodies", value=["Pos", "X"]), r"'X' is none, or is in a group already"),
    (at("groups", "bodies", value=["Pos", []]), r"\[\] is none, or is in a group already"),
    (at("groups", "bodies", value=["Pos", "Tile"]), r"Tile cannot be in a group"),
    (at("groups", "bodies", value=["Pos", "Part"]), r"Part cannot be in a group"),
    (at("groups", "bodies", value=["Pos", "Health"]), r"Health cannot be in a group"),
]


@pytest.mark.parametrize(("change", "message"), SCHEMAS, ids=range(len(SCHEMAS)))
def test_schemas_that_are_none(change: Callable[[Document], None], message: str) -> None:
    saved = town()
    change(saved.schema)
    refused(saved, message)


def paths(document: Document, *above: str) -> Iterator[tuple[str, ...]]:
    for key, each in document.items():
        yield (*above, key)
        yield from paths(each, *above, key) if isinstance(each, dict) else ()


def test_keys_of_the_schema_are_all_there() -> None:
    for *above, key in paths(town().schema):
        is_name = above[-1:] in (["enums"], ["components"], ["groups"], ["members"], ["fields"])
        if not is_name and key not in ("ring", "unique"):
            saved = town()
            del reduce(getitem, above, saved.schema)[key]
            refused(saved, rf"^{'.'.join(['schema', *above])}: there is no {key}$")


def file_of(saved: SnapshotContent, **changes: str) -> SnapshotFile:
    """A file that says this."""
    schema = changes.get("schema", json.dumps(saved.schema))
    metadata = {
        "fingerprint": sha256(schema.encode()).hexdigest(),
        "schema": schema,
        "state": changes.get("state", json.dumps(saved.state)),
    }
    parts = [single(name, array) for name, array in saved.arrays.items()]
    return read_snapshot(FilePlan(saved.name, metadata, parts).to_bytes())


def test_documents_of_a_file() -> None:
    saved = checked_documents(file_of(town()), SnapshotFormat())
    assert (saved.name, saved.schema, saved.state) == ("<bytes>", town().schema, town().state)
    check_content(saved, SnapshotFormat())


@pytest.mark.parametrize("document", ["schema", "state"])
def test_documents_that_are_no_json(document: str) -> None:
    """More of them is in `test_hostile_json`: a header is read alike."""
    for text, message in (("", "no JSON"), ("[]", "wanted an object"), ("3", "wanted an object")):
        with pytest.raises(SnapshotError, match=rf"^<bytes>: .*{document}.*: .*{message}"):
            checked_documents(file_of(town(), **{document: text}), SnapshotFormat())


def test_slots_are_no_more_than_the_file_has_room_for() -> None:
    saved = town()
    count = 100_000
    saved.schema["components"]["Tile"]["fields"]["name"] = field("str[60000]", "")
    arrays(saved)["tile.name"] = np.zeros((4, 60_000), np.uint8)
    checked_documents(file_of(saved), SnapshotFormat())
    saved.state["tile"]["peak"] = count
    arrays(saved)["tile.id_generation"] = np.ones(count, np.uint32)
    with pytest.raises(SnapshotError, match=r"tile\.id_generation: room for 100000 rows is more"):
        checked_documents(file_of(saved), SnapshotFormat())


def test_attributes_could_be_saved_again() -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    for value in (deep, 10**3000):
        saved = town()
        saved.state["attributes"]["far"] = value
        refused(saved, r"^state\.attributes\.far: nested too deep, or too long$")
