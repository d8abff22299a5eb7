"""The generated tests: which there are, how they look, that they pass, and that they notice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from ecsgen.config import Options, Runtime, UsageError
from ecsgen.model import Component
from ecsgen.render import generated_tests as generated
from ecsgen.render.output_file import Output
from ecsgen.render.text.library_imports import PARENT, collect_copies, vendor_imports
from ecsgen.source.schema_roots import SchemaRoot
from tests.house.floors import TESTING
from tests.mutate import mutate
from tests.support.generated_package import SCHEMAS, build, shipped
from tests.support.in_process_pytest import failures

ROOT = Path(__file__).parents[2]
WAYS: tuple[Runtime, ...] = get_args(Runtime)
SCHEDULE = """
component: Mote
fields: {place: "f32[2]", speed: "f32[2]", left: {type: u8, default: 3}}
reductions:
  fastest: {max: norm(speed)}
  moving: {count: left > 0}
kernels:
  drift: {args: {share: f32}, steps: ["place += speed * f32(settings.dt) * share"]}
  rest: {where: left > 0, steps: [left -= 1]}
---
world: Box
settings: {dt: f64, counts: "i32[2]"}
kernels: {set_aside: {over: Mote, where: Mote.left == 1, steps: [Mote.left = 3]}}
schedule:
  step:
    - set_aside
    - {set: settings.dt, to: "1 / max(Mote.fastest(), 1)"}
    - Mote.drift
    - {set: "settings.counts[1]", to: i32(tick) * 10, every: 2, from: 1}
    - {run: Mote.rest, times: 2}
    - {run: [Mote.rest, Mote.drift], while: Mote.moving, at_most: 4}
    - seen
    - tick
records: {seen: {fastest: {max: norm(Mote.speed)}}}
"""


def outputs(folder: Path, tests: Path | None = None) -> list[Output]:
    """Return the generated tests of the shipped schemas."""
    options = Options((SchemaRoot(SCHEMAS),), folder, "numpy", tests or folder / "tests", 1, 88)
    return list(generated.outputs(shipped(), options))


def build_text(
    folder: Path, text: str, tests: Path | None = None, runtime: Runtime = "installed"
) -> Path:
    """Build `package` of one schema in a folder, and return where its tests are."""
    (folder / "schemas").mkdir(parents=True)
    (folder / "schemas" / "all.yaml").write_text(text, encoding="utf-8")
    build(folder / "schemas", folder / "package", tests, runtime=runtime)
    return tests or folder / "package" / "tests"


def run_pytest(home: Path, *tests: Path | str, select: str = "") -> None:
    """Run generated tests; warnings are errors."""
    options = ("--rootdir", home, "-W", "error", "-k", select)
    assert failures(home, *options, *tests) == []


def test_without_hypothesis_tests_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("import sys\nsys.modules['hypothesis'] = None\n", "utf-8")
    options = ["-q", "-rs", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "bare"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "generated/tests/test_footprint.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode in (0, 5), ran.stdout + ran.stderr
    assert "generated tests need hypothesis: pip install hypothesis" in ran.stdout
    assert "1 skipped" in ran.stdout


def test_the_same_text_each_time(tmp_path: Path) -> None:
    first = [(output.path, output.input_digest, output.render()) for output in outputs(tmp_path)]
    again = [(output.path, output.input_digest, output.render()) for output in outputs(tmp_path)]
    assert first == again
    assert len({key for _, key, _ in first}) == len(first)


def test_pieces_of_policies_that_nobody_asks_for_are_left_out() -> None:
    plain = Component(name="Plain", module="plain", lookup="hash", destroy="manual")
    tests = generated.component_tests(plain, PARENT, {})
    folder = "tests/_support/"
    modules = {
        path.removeprefix(folder).removesuffix(".py")
        for path in collect_copies([vendor_imports(lambda: tests, PARENT)])
    }
    assert {"common_cases", "state_machine", "owned", "packed"} <= modules
    assert (
        not {"chunks", "destroy", "hierarchy", "ids", "kernel_cases", "orphans", "unique"} & modules
    )


def test_copies_are_about_their_own_package(tmp_path: Path) -> None:
    """Where they are written they import the shipped one, which would be found again."""
    texts = {output.path: output.render() for output in outputs(tmp_path)}
    assert [path for path in texts if "import generated" in texts[path]] == []
    assert [path for path in texts if "from generated" in texts[path]] == []
    assert "from .. import EntityManager, " in texts["tests/test_point_mass.py"]


def test_no_piece_knows_a_package() -> None:
    """So several packages share them; what is the same for all they have from the library."""
    for path in TESTING.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        dots = len(path.relative_to(TESTING).parts)
        assert f"from {'.' * (dots + 1)}" not in text, path
        assert "from generated" not in text, path


def test_of_tests_each_package_has_what_names_its_components(tmp_path: Path) -> None:
    paths = [output.path for output in outputs(tmp_path) if output.path.startswith("tests/")]
    modules = {
        f"test_{component.module}" for component in shipped().components if not component.chunk
    }
    modules |= {"__init__", "conftest", "test_archetypes", "test_world"}
    assert sorted(paths) == sorted(f"tests/{name}.py" for name in modules)


def test_moved_tests_need_a_package_with_a_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="my-package"):
        outputs(tmp_path / "my-package", tmp_path / "checks")


def test_moved_tests_find_their_package(tmp_path: Path) -> None:
    pair, elsewhere = tmp_path / "pair", tmp_path / "elsewhere"
    build_text(pair, "component: Tag\n", pair / "far" / "checks")
    pair.rename(elsewhere)
    run_pytest(tmp_path, elsewhere / "far" / "checks", select="not Machine")


def test_moved_tests_have_their_own_copies(tmp_path: Path) -> None:
    """Which find the package's copies of the library, as a part of it."""
    checks = build_text(tmp_path, "component: Tag\n", tmp_path / "far" / "checks", "vendored")
    text = (checks / "_support" / "owned.py").read_text(encoding="utf-8")
    assert "from package._runtime.base.handles import NIL\n" in text
    run_pytest(tmp_path, checks, select="not Machine")


def test_schedules_of_all_kinds_pass_their_tests(tmp_path: Path) -> None:
    run_pytest(tmp_path, build_text(tmp_path, SCHEDULE) / "test_world.py")


@pytest.mark.parametrize("runtime", WAYS)
def test_small_handles_pass_their_tests(tmp_path: Path, runtime: Runtime) -> None:
    for bits in (2, 3):
        handles = f"{{index_bits: {bits}, generation_bits: 2, min_free: {bits - 2}}}"
        small = f"world: Small\nentity: {handles}\n---\ncomponent: Tag\n"
        run_pytest(tmp_path, build_text(tmp_path / f"of_{bits}", small, runtime=runtime))


@pytest.mark.parametrize("which", ["schemas", "tests/more_policies.yaml", "tests/sharded.yaml"])
def test_vendored_packages_pass_their_tests(tmp_path: Path, which: str) -> None:
    """As those that import the library do, all over this file."""
    files = sorted(SCHEMAS.iterdir()) if which == "schemas" else [ROOT / which]
    text = "\n---\n".join(file.read_text(encoding="utf-8") for file in files)
    tests = build_text(tmp_path, text, runtime="vendored")
    run_pytest(tmp_path, "-p", "tests.support.fewer_examples", "--every", "3", tests)


def test_fields_are_called_as_they_please(tmp_path: Path) -> None:
    """And kernels let numbers grow until they overflow. Python has no times of nanoseconds."""
    fields = "fields: {m: f32, source: f32, w: f32, entity_: f32, owner: f32, values: f32}"
    kernel = "{over: pair, steps: [One.m = Two.m * One.m * 1e30, Two.m = 2 + One.m * One.m]}"
    text = (
        f"world: Names\ngroups: {{pair: [One, Two]}}\nkernels:\n  grow: {kernel}\n---\n"
        f"component: One\n{fields}\n---\ncomponent: Two\nrelease: true\n{fields}\n---\n"
        f"component: Three\nowner: none\n{fields}\n---\n"
        'component: Four\nfields: {at: {type: "datetime[ns]", index: true}}\n'
    )
    run_pytest(tmp_path, build_text(tmp_path, text), select="not Machine")


def test_compiled_packages_pass_their_tests(tmp_path: Path) -> None:
    """The machines, what has nothing to do with numba, and the component with most kernels (the
    schedule has them) are left to `make mutants`."""
    pytest.importorskip("numba")
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    shutil.copy(Path(__file__).parents[1] / "compiled.yaml", schemas)
    project = build(schemas, tmp_path / "package", backend="numba")
    modules = [
        component.module
        for component in project.components
        if component.kernels and component.name != "Bead"
    ]
    tests = [tmp_path / "package" / "tests" / f"test_{name}.py" for name in (*modules, "world")]
    run_pytest(tmp_path, *tests, select="not Machine")


def test_broken_managers_are_noticed() -> None:
    """Of a policy with small tests: those of all files that are named run once before."""
    telling = "other owners|repeated entities|holes are taken|the alive are collected"
    outcomes = mutate(4, rf"^_runtime/managers/policies/direct\.py +({telling})", workers=2)
    assert [outcome.job.title for outcome in outcomes if not outcome.killed_by] == []
    assert len(outcomes) == 4
