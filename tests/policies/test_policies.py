"""Policies: what says the same twice agrees, and what is about one stands where the page says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ecsgen_runtime.snapshots.policy_rules import POLICIES, max_rows, policies_of
from pydantic import TypeAdapter, ValidationError

from ecsgen import policies, schema
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Component, Project
from ecsgen.model.snapshot_schema import make_snapshot_schema
from ecsgen.policies.policy import MAX_ROWS
from ecsgen.policies.steps import STEPS, TEMPLATE_BLOCKS
from ecsgen.render.components.component_features import collect_features

ROOT = Path(__file__).parents[2]
SCHEMAS = [*sorted((ROOT / "schemas").glob("*.yaml")), ROOT / "tests" / "more_policies.yaml"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("schemas")
    for path in SCHEMAS:
        (folder / path.name).write_text(path.read_text("utf-8"), encoding="utf-8")
    loaded = schema.load(folder, Diagnostics())
    assert loaded is not None
    return loaded


def managed(project: Project) -> list[tuple[Component, dict[str, Any]]]:
    saved = make_snapshot_schema(project)["components"]
    return [
        (component, saved[component.name])
        for component in project.components
        if not component.chunk
    ]


def test_files_have_the_columns_and_numbers_of_managers(project: Project) -> None:
    for component, document in managed(project):
        active = policies.select_policies(component)
        columns = {column.name for policy in active for column in policy.columns}
        state = {name for policy in active for name in policy.rows_slots}
        of_files = list(policies_of(document))
        links = {name for facts in of_files for name in facts.columns if "." not in name}
        numbers = {f"_{name}" for facts in of_files for name in facts.numbers}
        assert columns - {"entity"} == links, component.name
        # objects of managers, caches and counts that follow from others
        derived = {"_cold", "_count", "_kernels", "_world_kernels", "_n_grouped"}
        derived |= {"_indexes", "_field_indexes"}
        assert state - derived == numbers - {"_n_cold"}, component.name
        assert max_rows(document) == (policies.max_rows(component) or MAX_ROWS)


def test_calls_are_of_steps_that_there_are() -> None:
    steps = {step.name for step in (*STEPS, *TEMPLATE_BLOCKS)}
    unknown = {policy.name: policy.step_code.keys() - steps for policy in policies.list_policies()}
    assert not any(unknown.values()), unknown


def test_rows_have_one_place(project: Project) -> None:
    for component, _ in managed(project):
        names = {policy.name for policy in policies.select_policies(component)}
        places = names & {"packed", "partition", "grouped", "direct", "cells"}
        assert len(places) == 1, component.name


def test_keys_mean_the_same_in_files() -> None:
    spans = {key: span for rules in POLICIES for key, span in rules.keys_if_on.items()}
    keys = policies.list_keys("component")
    assert spans.keys() - {"grid", "on"} == {key.name for key in keys}  # those are no numbers
    for key in keys:
        form: TypeAdapter[Any] = TypeAdapter(key.annotation)
        for number in (spans[key.name][0], spans[key.name][-1]):
            assert form.validate_python(number) == number
        for number in (spans[key.name][0] - 1, spans[key.name][-1] + 1):
            with pytest.raises(ValidationError):
                form.validate_python(number)
    assert {key.name for key in policies.list_keys("field")} == {"unique", "index", "on_delete"}


def test_each_policy_and_part_is_in_use(project: Project) -> None:
    """Those of shards, of grids, of networks and of other backends are of other schemas."""
    used = {
        part.name
        for component, _ in managed(project)
        for part in collect_features(component, policies.select_policies(component))
    }
    apart = {"ghost_holder", "ghost_space", "cells", "occupant"}
    apart |= {"directed", "mutual", "knows_entities", "unowned_collected", "unowned_followed"}
    apart |= {"followed_references"}
    assert {policy.name for policy in policies.list_policies()} - apart <= used


def test_a_policy_has_one_place() -> None:
    """`ring` is named in no other file of the product than the page of contributors says, and no
    file of tests is called like it but those."""
    listed = _listed("All that is about `ring: N` stands in these files")
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    files = [path for path in tracked if (ROOT / path).is_file()]
    word = re.compile(r"\bring\b", re.IGNORECASE)
    product = {
        path
        for path in files
        if path.startswith(("ecsgen/", "runtime/ecsgen_runtime/", "testing/", "templates/"))
        and word.search((ROOT / path).read_text("utf-8"))
    }
    assert product == {path for path in listed if not path.startswith(("tests", "docs", "schemas"))}
    named = {path for path in files if re.search(r"(?<![a-z])ring(?![a-z])", Path(path).stem)}
    drawn = {"docs/pictures/ring.svg"}
    assert named - product - drawn == {path for path in listed if path.startswith("tests")}
    assert all((ROOT / path).is_file() for path in listed)
    assert len(listed) < 10


def _listed(begin: str) -> set[str]:
    """Return the files in the table behind a sentence of the page."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    table = page.partition(begin)[2].partition("| | |")[2].partition("\n\n")[0]
    return set(re.findall(r"`([^`]+)`", table))
