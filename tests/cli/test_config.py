"""Options: of [tool.ecsgen] and of the command line, and what a build makes of them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ecsgen.config import POLICIES, Options, UsageError, load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.schema import load
from ecsgen.schema.document_specs import ComponentSpec
from ecsgen.source.schema_roots import SchemaRoot, package
from tests.support.command_project import Project

BODY = "component: Body\nfields: {mass: f32, label: {type: 'str[8]', tags: [cold]}}\n"
EFFECT = "component: Effect\ninstances: many\nfields: {left: f32}\n"
PATHS = "must be the path of a folder, 'package:NAME', or a list of those"


@pytest.fixture
def project(project: Project) -> Project:
    project.put("schemas/body.yaml", BODY)
    return project


def test_defaults(project: Project) -> None:
    options = load_options()
    assert options.schemas == (SchemaRoot(project.folder / "schemas"),)
    assert options.output == project.folder / "generated"
    assert options.tests == project.folder / "generated" / "tests"
    assert not options.tests_moved
    assert options.tests_location == "tests"
    assert (options.backend, options.line_length) == ("numpy", 88)
    assert options.jobs >= 1


def test_paths_are_relative_to_pyproject_and_arguments_to_the_working_directory(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure('schemas = "ecs"\noutput = "src/made"\ntests = "checks"')
    (project.folder / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project.folder / "deep" / "er")
    options = load_options()
    assert options.schemas == (SchemaRoot(project.folder / "ecs"),)
    assert options.output == project.folder / "src" / "made"
    assert options.tests == project.folder / "checks"
    assert options.tests_moved
    assert options.tests_location == "../../checks"
    assert load_options(output=Path("out")).output == project.folder / "deep" / "er" / "out"
    assert load_options(output=Path("out")).tests == project.folder / "checks"


def test_the_nearest_pyproject_with_our_table_counts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.folder / "sub").mkdir()
    monkeypatch.chdir(project.folder / "sub")
    (project.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert load_options().output == project.folder / "sub" / "generated"
    project.configure("jobs = 7")
    assert load_options().jobs == 7
    project.put("sub/pyproject.toml", "[tool.ecsgen]\njobs = 3\n")
    assert load_options().jobs == 3


def test_the_command_line_wins(project: Project) -> None:
    project.configure('backend = "numba"\njobs = 3\nline_length = 100')
    assert load_options().backend == "numba"
    options = load_options(backend="numpy", jobs=2)
    assert (options.backend, options.jobs, options.line_length) == ("numpy", 2, 100)


def test_kernels_use_all_cores_by_default_if_the_project_says_so(project: Project) -> None:
    """With numba; `parallel` of a schema wins, and with numpy the option means nothing."""
    project.put(
        "schemas/body.yaml",
        """\
component: Body
fields: {mass: f64}
kernels:
  grow: {steps: [mass += 1]}
  shrink: {parallel: false, steps: [mass -= 1]}
  both: {parallel: true, steps: [mass += 1, mass -= 1]}
---
world: Scene
kernels: {move: {over: Body, steps: [Body.mass *= 2]}}
""",
    )
    project.configure('backend = "numba"\nparallel = true')
    for flags, default in (({}, True), ({"parallel": False}, False), ({"backend": "numpy"}, False)):
        options = load_options(**flags)
        model = load(options.schemas, Diagnostics(), options.defaults, options.is_parallel)
        assert model is not None
        kernels = [*model.components[0].kernels, *model.world.kernels]
        assert {kernel.name: kernel.parallel for kernel in kernels} == {
            "grow": default,
            "shrink": False,
            "both": True,
            "move": default,
        }


def test_tests_can_be_left_out(project: Project) -> None:
    project.configure("tests = false")
    options = load_options()
    assert options.tests is None
    assert options.tests_location is None
    assert not options.tests_moved
    project.configure("tests = true")
    assert load_options().tests == project.folder / "generated" / "tests"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = 'x'", "unknown key 'schema'; did you mean 'schemas'?"),
        ("line-length = 90", "unknown key 'line-length'; did you mean 'line_length'?"),
        ("zzz = 1", "unknown key 'zzz'"),
        ("schemas = 1", f"schemas: {PATHS}, not 1"),
        ("schemas = true", f"schemas: {PATHS}, not True"),
        ("schemas = []", f"schemas: {PATHS}, not []"),
        ("schemas = [1]", f"schemas: {PATHS}, not [1]"),
        ("schemas = ['a', 'a']", f"schemas: {PATHS}, not ['a', 'a']"),
        ("schemas = ['a', '']", f"schemas: {PATHS}, not ['a', '']"),
        ("output = ''", "output: must be the path of a folder, not ''"),
        ('output = "a\\u0000b"', "output: must be the path of a folder"),
        ("header = 1", "header: "),
        ('header = "a\\u0000"', "header: "),
        ('header = "a\\rb"', "header: "),
        ('header = "a\\u2028b"', "header: "),
        ("tests = 3", "tests: must be the path of a folder, true or false, not 3"),
        (
            "backend = 'nunpy'",
            "backend: must be 'numpy' or 'numba', not 'nunpy'; did you mean 'numpy'?",
        ),
        ("backend = []", "backend: must be 'numpy' or 'numba', not []"),
        ("compiled = 1", "compiled: must be true or false, not 1"),
        ("parallel = 2", "parallel: must be true or false, not 2"),
        ("jobs = 0", "jobs: must be a whole number from 1, not 0"),
        ("jobs = true", "jobs: must be a whole number from 1, not True"),
        ("jobs = 1.0", "jobs: must be a whole number from 1, not 1.0"),
        ("line_length = 10", "line_length: must be a whole number from 40 to 400, not 10"),
        ("jobs = ", "pyproject.toml: Invalid value"),
        (
            "defaults = {destory = 'gc'}",
            "[tool.ecsgen.defaults] unknown key 'destory'; did you mean 'destroy'?",
        ),
        (
            "defaults = {destroy = 'lazy'}",
            "defaults] destroy: must be 'gc' or 'callback' or 'manual', not 'lazy'",
        ),
        ("defaults = {ids = 1}", "[tool.ecsgen.defaults] ids: must be true or false, not 1"),
        ("defaults = {owner = 'none'}", "[tool.ecsgen.defaults] unknown key 'owner'"),
    ],
)
def test_bad_tables(project: Project, text: str, message: str) -> None:
    project.configure(text)
    done = project("validate")
    assert done.status == 2
    assert done.err.startswith("Error: pyproject.toml: ")
    assert message in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool]\necsgen = 3\n", "must be a table"),
        (b"[tool.ecsgen]\nschemas = '\xff'\n", r"pyproject\.toml"),
    ],
)
def test_what_is_no_table(project: Project, content: bytes, message: str) -> None:
    (project.folder / "pyproject.toml").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load_options()


@pytest.mark.parametrize("output", [".", "schemas", "schemas/..", ".."])
def test_the_output_must_not_contain_the_schemas(project: Project, output: str) -> None:
    with pytest.raises(UsageError, match="contains the schemas"):
        load_options(output=Path(output))


def test_the_output_must_be_a_real_folder(project: Project) -> None:
    (project.folder / "file").write_text("")
    (project.folder / "elsewhere").mkdir()
    (project.folder / "link").symlink_to(project.folder / "elsewhere")
    (project.folder / "dangling").symlink_to(project.folder / "nowhere")
    for name, message in [("file", "is not a folder"), ("link", "is a link"), ("dangling", "link")]:
        with pytest.raises(UsageError, match=message):
            load_options(output=Path(name))


def test_tests_must_be_outside_the_output_or_in_their_usual_place(project: Project) -> None:
    for tests in ("generated", "generated/checks"):
        project.configure(f"tests = '{tests}'")
        with pytest.raises(UsageError, match="inside the output folder"):
            load_options()
    project.configure("tests = 'generated/tests'")
    assert not load_options().tests_moved
    project.configure("tests = 'pyproject.toml'")
    with pytest.raises(UsageError, match="is not a folder"):
        load_options()


def test_options_are_immutable(project: Project) -> None:
    options: Options = load_options()
    with pytest.raises(AttributeError):
        options.jobs = 2  # type: ignore[misc]


@pytest.fixture
def physics(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An installed package with schemas that fails when it is imported."""
    project.put("site/physics/__init__.py", "raise RuntimeError('imported')")
    project.put("site/physics/mass.yaml", "component: Mass\nfields: {value: f64}\n")
    project.put("site/physics/data/other.yaml", "not: a schema\n")
    project.put("site/physics/more/heat.yaml", "component: Heat\nfields: {value: f64}\n")
    monkeypatch.syspath_prepend(str(project.folder / "site"))
    return project


def test_schemas_of_an_installed_package(physics: Project) -> None:
    physics.configure('schemas = ["schemas", "package:physics", "package:physics.more"]')
    assert physics("build").status == 0
    assert physics.manifest()["schemas"].keys() == {
        "body.yaml",
        "physics/mass.yaml",
        "physics/more/heat.yaml",
    }
    assert "class MassManager" in physics.text("generated/mass.py")
    assert physics("check").status == 0
    physics.put("site/physics/mass.yaml", "component: Mass\nfields: {value: f33}\n")
    done = physics("build")
    assert done.status == 2
    assert done.err.startswith("physics/mass.yaml:2:17: error[E104]")
    assert "physics" not in sys.modules


def test_several_folders_are_called_by_their_paths(project: Project) -> None:
    project.put("more/body.yaml", EFFECT)
    project.configure('schemas = ["schemas", "more"]')
    assert project("build").status == 0
    assert project.manifest()["schemas"].keys() == {"schemas/body.yaml", "more/body.yaml"}
    assert project("layout", "Effect").status == 0
    assert project("build", "more").status == 0
    assert project.manifest()["schemas"].keys() == {"body.yaml"}


@pytest.mark.parametrize(
    "name", ["nobody", "nobody.at.all", "", ".", "keyword", "a b", "physics.none"]
)
def test_packages_that_are_not_there(physics: Project, name: str) -> None:
    with pytest.raises(LookupError):
        package(name)
    physics.configure(f'schemas = ["package:{name}"]')
    done = physics("check")
    assert (done.status, done.err) == (2, f"Error: schemas: no package {name!r} is installed\n")


def test_what_breaks_in_several_roots(physics: Project) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "schemas"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    physics.configure('schemas = ["schemas", "package:physics"]')
    assert physics("breaking", "--against", "git:HEAD").status == 0
    physics.put("schemas/body.yaml", BODY.replace("mass: f32, ", ""))
    assert physics("breaking", "--against", "git:HEAD", "--only", "data").status == 1


def test_header(project: Project) -> None:
    project.configure('header = "Copyright 2026\\n\\nDo as you like: é"')
    assert project("build").status == 0
    for path, content in project.files().items():
        head = "# Copyright 2026\n#\n# Do as you like: é\n"
        assert content.decode().startswith(head) == path.endswith(".py"), path
    assert (ast.get_docstring(ast.parse(project.text("generated/body.py"))) or "").startswith(
        "Body"
    )
    assert project.manifest()["header"].startswith("Copyright")
    assert project("check").status == 0
    assert "files in step" in project("build").out
    project.configure("")
    assert project("check").status == 1
    assert project("build").status == 0
    assert project.text("generated/body.py").startswith('"""Body')
    assert "header" not in project.manifest()


@pytest.mark.parametrize("line", ["File encoding: mine", "-*- coding: latin-1 -*-", "coding=x"])
def test_a_header_names_no_encoding(project: Project, line: str) -> None:
    """Python would obey it and not compile the files."""
    for begin in ("", "mine\n"):
        project.configure(f"header = {json.dumps(begin + line)}")
        done = project("check")
        assert done.status == 2, line
        assert "must not name an encoding ('coding:')" in done.err
    for harmless in (f"a\nb\n{line}", "coding: UTF-8", "encoding: …", "decoding"):
        project.configure(f"header = {json.dumps(harmless)}")
        assert project("build").status == 0
        compile((project.folder / "generated/body.py").read_bytes(), "body.py", "exec")


def test_cli_defaults(project: Project) -> None:
    project.put("schemas/effect.yaml", EFFECT)
    project.put("schemas/mine.yaml", "component: Mine\ndestroy: manual\nfields: {a: u8}\n")
    project.put("schemas/spark.yaml", "component: Spark\nowner: none\nfields: {a: u8}\n")
    for component in ("Place", "Speed", "Old"):
        project.put(f"schemas/{component.lower()}.yaml", f"component: {component}\n")
    project.put(
        "schemas/w.yaml",
        "world: Game\ngroups: {movers: [Place, Speed]}\narchetypes: {components: [Old]}\n",
    )
    text = '[tool.ecsgen.defaults]\ndestroy = "callback"\nlookup = "direct"\ncold = "indirect"\n'
    project.put("pyproject.toml", text)
    assert project("build").status == 0
    first = {
        name: project.text(f"generated/{name}.py").splitlines()[0]
        for name in ("body", "effect", "mine", "spark", "place", "old")
    }
    chosen = "by default of the project"
    release = "lookup sparse, instances one, destroy callback, release"
    assert first["body"] == f'"""Body: {release} ({chosen}: cold, destroy).'
    assert f"({chosen}: destroy)" in first["effect"]
    assert first["effect"].startswith('"""Effect: lookup sparse')
    mine = f"lookup direct, instances one, destroy manual ({chosen}: lookup)"
    assert first["mine"] == f'"""Mine: {mine}.'
    assert chosen not in first["spark"] + first["old"]
    assert "lookup sparse" in first["place"]
    wanted = [("cold", "indirect"), ("destroy", "callback"), ("lookup", "direct")]
    assert [*project.manifest()["defaults"].items()] == wanted  # sorted
    assert project("check").status == 0
    project.put("pyproject.toml", text.replace("callback", "manual"))
    assert project("check").status == 1


def test_defaults_are_policies_of_the_language() -> None:
    for key, choices in POLICIES.items():
        annotation = ComponentSpec.model_fields[key].annotation
        words = (True, False) if annotation is bool else annotation.__args__  # type: ignore[union-attr]
        assert set(words) == set(choices)


@pytest.mark.parametrize(
    ("name", "code", "hint"),
    [("my-pkg", "E101", "my_pkg"), ("class", "E102", "class_"), ("2d", "E101", "_2d")],
)
def test_packages_that_nobody_could_import(
    project: Project, name: str, code: str, hint: str
) -> None:
    done = project("build", "-o", name)
    assert done.status == 2
    assert done.err.startswith(f"{name}: error[{code}]: ")
    assert f"did you mean {hint!r}?" in done.err
    assert not (project.folder / name).exists()
    (report,) = json.loads(project("check", "-o", name, "--format", "json").out)
    assert (report["path"], report["line"], report["code"]) == (name, 0, code)


def test_kernels_that_look_at_all_rows_are_named(project: Project) -> None:
    near = "{near: {others: {among: Body}}, steps: [mass += f32(count(others))]}"
    project.put("schemas/body.yaml", f"{BODY}kernels: {{meet: {near}}}\n")
    message = "each row looks at all rows of others, O(rows), in Body.meet\n"
    reason = "on numpy these kernels are loops in plain Python: Body.meet (all rows as neighbours);"
    stated = project("build").err
    assert stated.startswith(reason)
    assert stated.endswith(f"; {message}")
    assert project("build", "--backend", "numba").err.endswith(f"stay\n{message}")


def test_messages_to_the_unborn_are_named(project: Project) -> None:
    """Of a local that may also mean somebody who is there nothing is said."""
    steps = "kid = spawn(Body(mass=1))\n      kid.Body.mass += 2\n      who = Body.owner_"
    maybe = "who = spawn(Body(), where=Body.mass > 3)\n      who.Body.mass += 1"
    kernel = f"kernels:\n  bear:\n    over: Body\n    steps: |\n      {steps}\n      {maybe}\n"
    body = "component: Body\nfields: {mass: f32, owner_: entity}\n---\nworld: Sea\n"
    project.put("schemas/body.yaml", body + kernel)
    assert project("build", "--backend", "numba").err.splitlines()[-1] == (
        "nobody gets `kid.Body.mass += 2` in bear: who is spawned is not there before the pass has"
        " ended; give the values to `spawn(…)`"
    )


def test_loops_with_numpy_are_said_to_be_slow(project: Project) -> None:
    """On one line, by builds that write such a kernel; compiled, they need no word."""
    kernel = "kernels: {age: {turns: rows, steps: [x += 1]}}\n"
    project.put("schemas/mass.yaml", f"component: Mass\nfields: {{x: f32}}\n{kernel}")
    about = (
        'on numpy these kernels are loops in plain Python: {}; backend = "numba" in [tool.ecsgen],'
        " or --backend numba, compiles them (pip install numba): 9 to 600 times as fast\n"
    )
    message = about.format("Mass.age (turns)")
    assert project("build").err == message
    assert project("build", "--force").err == ""
    project.put("schemas/other.yaml", "component: Other\n")
    assert project("build").err == ""
    assert (project("check").err, project("diff").err) == ("", "")
    turns = "grow: {over: Mass, turns: random, steps: [Mass.x += 1]}"
    end = "end: {over: Mass, turns: rows, steps: [die(where=Mass.x < 0)]}"
    go = "go: {over: Mass, steps: [die(where=Mass.x < 0)]}"  # in blocks
    over = f"kernels: {{{turns}, {end}, {go}}}\n"
    message = about.format("Mass.age (turns), grow (turns), end (turns)")
    project.put("schemas/world.yaml", f"world: Sea\n{over}")
    assert project("build").err == message
    project.put("schemas/mass.yaml", f"component: Mass\nfields: {{x: f64}}\n{kernel}")
    assert project("build").err == message  # once, though two modules have some
    project.configure('backend = "numba"')
    assert message not in project("build").err
