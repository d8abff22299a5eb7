"""ecsgen build, check and diff; builds again after changes; and the plan of what is written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ecsgen.cli import main
from ecsgen.files.output_paths import DiskEntry, Kind
from ecsgen.files.write_plan import plan
from ecsgen.fingerprint import digest
from tests.support import fake_generator
from tests.support.command_project import MANIFEST, Project

IN_STEP = (0, "generated: 5 files in step, made for numpy\n", "")
UNCHANGED = (0, "generated: 0 written, 0 deleted, 5 unchanged\n", "")
CACHE = "generated/__pycache__/ecsgen.json"


@pytest.fixture
def project(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr("ecsgen.build._outputs", fake_generator.outputs)
    monkeypatch.setattr("ecsgen.fingerprint.generator", lambda: "0" * 32)
    # Not the black that templates are written for: it is asked about every file.
    monkeypatch.setattr("ecsgen.fingerprint.black_version", lambda: "1.3")
    project.put("schemas/mass.yaml", "x=1")
    project.put("schemas/sound.yaml", "x  =  2")
    return project


def written(project: Project) -> dict[str, int]:
    """Return when each generated file was written last."""
    return {path: (project.folder / path).stat().st_mtime_ns for path in project.files()}


def test_build_check_and_build_again(project: Project) -> None:
    first = project("build", "schemas")
    assert first == (0, "generated: 5 written, 0 deleted, 0 unchanged\n", "")
    assert project.text("generated/mass.py") == "x = 1\n"
    assert project("check") == IN_STEP
    assert project("diff") == (0, "", "")
    before = written(project)
    assert project("build") == IN_STEP
    assert fake_generator.made == []
    assert written(project) == before
    project.put("schemas/mass.yaml", "x=3")
    assert project("build").out == "generated: 1 written, 0 deleted, 4 unchanged\n"
    assert fake_generator.made == ["mass.py"]
    changed = {path for path, _ in written(project).items() - before.items()}
    assert changed == {"generated/mass.py", MANIFEST}


def test_the_manifest_is_the_same_everywhere(project: Project, tmp_path: Path) -> None:
    project("build")
    here = project.files()
    (project.folder / "other").mkdir()
    shutil.copytree(project.folder / "schemas", project.folder / "other" / "place")
    project("build", "other/place", "-o", "other/out")
    there = project.files("other/out")
    assert [*here.values()] == [*there.values()]
    text = project.text(MANIFEST)
    assert str(tmp_path) not in text
    assert text.count("\n") == 2 + 7 + 2 * 2 + 2 + 5  # braces, head, sections, schemas, files


def reports(project: Project) -> list[tuple[str, ...]]:
    """Return what `check` says to machines."""
    texts = json.loads(project("check", "--format", "json").out)
    return [(each["path"], each["code"], each["message"], each["hint"]) for each in texts]


def test_states_and_their_mending(project: Project) -> None:
    project.put("schemas/ai.yaml", "x=5")
    project("build")
    project.put("schemas/mass.yaml", "x=3")
    (project.folder / "schemas/ai.yaml").unlink()
    (project.folder / "generated/tests/test_sound.py").unlink()
    project.put("generated/sound.py", "mine = 1\n")
    snapshot = project.files()
    status, out, _ = project("check")
    assert status == 1
    assert out.splitlines() == [
        "EXTRA generated/ai.py",
        "CHANGED generated/mass.py",
        "HAND-EDITED generated/sound.py",
        "EXTRA generated/tests/test_ai.py",
        "MISSING generated/tests/test_sound.py",
        "CHANGED generated/.ecsgen.json",
        "generated: out of step, made for numpy",
        "to mend: ecsgen build",
        "to mend, dropping what was edited: ecsgen build --force",
    ]
    assert project.files() == snapshot
    status, out, err = project("build")
    assert (status, out) == (2, "")
    assert err == (
        "generated/sound.py: error[E702]: edited by hand;"
        " to drop what was edited: ecsgen build --force\n"
    )
    assert project.files() == snapshot
    assert project("build", "--force").out == "generated: 3 written, 2 deleted, 2 unchanged\n"
    assert project.text("generated/sound.py") == "x = 2\n"
    assert not (project.folder / "generated/ai.py").exists()
    assert project("check").status == 0


def test_mending_repeats_the_arguments(project: Project) -> None:
    out = project("check", "schemas/../schemas", "-o", "my out", "--backend", "numba").out
    assert "to mend: ecsgen build -o 'my out' --backend numba" in out
    assert "to mend: ecsgen build --vendor\n" in project("check", "--vendor").out
    project.configure('runtime = "vendored"')
    assert "to mend: ecsgen build --no-vendor\n" in project("check", "--no-vendor").out


def test_a_package_that_is_not_there(project: Project) -> None:
    """One line for all of it, and for whatever else is in the folder none."""
    expected = "MISSING generated: none of the package's 5 files is there\nto mend: ecsgen build\n"
    assert project("check") == (1, expected, "")
    project.put("generated/notes.txt", "mine")
    assert project("check") == (1, expected, "")
    message = "MISSING: none of the package's 5 files is there"
    assert reports(project) == [("generated", "E701", message, "run ecsgen build")]
    status, _, err = project("check", "--format", "json")
    assert (status, err) == (1, "to mend: ecsgen build\n")
    project.put("generated/mass.py", "x = 1\n")
    assert "MISSING generated/sound.py\n" in project("check").out


@pytest.mark.parametrize(
    ("key", "was", "now", "flag"),
    [
        ("backend", '"numpy"', '"numba"', "--backend=numba"),
        ("runtime", '"installed"', '"vendored"', "--vendor"),
        ("parallel", "false", "true", "--parallel"),
    ],
)
def test_an_option_of_the_last_build_does_not_go_without_a_word(
    project: Project, key: str, was: str, now: str, flag: str
) -> None:
    def message(was: str, now: str, stays: str) -> str:
        return (
            f"generated was built with {key} = {was}, and this is {key} = {now}; {key} = {stays} in"
            " [tool.ecsgen] of pyproject.toml makes it stay\n"
        )

    assert project("build", flag).err == ""  # nothing was there
    assert project("build", flag).err == ""
    for command, status in (("check", 1), ("diff", 1), ("build", 0)):
        done = project(command)
        assert (done.status, done.err) == (status, message(now, was, now))
    assert project("build").err == ""
    assert project("check", flag).err == message(was, now, now)
    assert project("build", flag).err == message(was, now, now)
    listed = "\n[project]\ndependencies = ['ecsgen-runtime']"
    project.configure(f"{key} = {now}{listed}")
    assert project("build").err == ""
    project.configure(f'schemas = "package:nowhere"{listed}')  # what the command line says counts
    assert project("build", "schemas").err == message(now, was, now)


@pytest.mark.parametrize("command", ["build", "check", "diff"])
def test_what_older_projects_say_of_sources_in_c_does_nothing(
    project: Project, command: str
) -> None:
    """And is said once: of the command line, of pyproject.toml, of both."""
    plain = project("build").status, project.files()
    both = "compiled = true", "--no-compiled"
    for line, flags in (("", "--compiled"), ("compiled = true", ""), both):
        project.configure(line)
        done = project(command, *flags.split())
        assert done.err.count("compiled does nothing any more") == 1
        assert (done.status, project.files()) == plain


def test_check_names_the_backend(project: Project) -> None:
    project("build", "--backend", "numba")
    done = project("check", "--backend", "numba")
    assert done == (0, "generated: 5 files in step, made for numba\n", "")
    project.put("schemas/mass.yaml", "x=3")
    end = "generated: out of step, made for numba\nto mend: ecsgen build --backend numba\n"
    assert project("check", "--backend", "numba").out.endswith(end)
    assert project("check", "--format", "json").err.endswith(end)
    project.configure('backend = "numpy"')
    assert project("check").out.splitlines()[-1] == "to mend: ecsgen build"


def test_diff(project: Project) -> None:
    project.put("schemas/ai.yaml", "x=5")
    project("build")
    project.put("schemas/mass.yaml", "x=3")
    (project.folder / "schemas/ai.yaml").unlink()
    (project.folder / "generated/__init__.py").unlink()
    (project.folder / "generated/sound.py").write_bytes(b"\xff no newline")
    status, out, err = project("diff")
    assert (status, err) == (1, "")
    assert "--- a/generated/mass.py\n+++ b/generated/mass.py\n@@ -1 +1 @@\n-x = 1\n+x = 3\n" in out
    assert "--- a/generated/ai.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 5\n" in out
    assert "-\\xff no newline\n\\ No newline at end of file\n+x = 2\n" in out
    assert "--- /dev/null\n+++ b/generated/__init__.py\n" in out


def test_errors_in_schemas_change_nothing(project: Project) -> None:
    project("build")
    before = project.files()
    project.put("schemas/mass.yaml", "!error")
    project.put("schemas/new.yaml", "x=1")
    for command in ("build", "check", "diff"):
        status, out, err = project(command)
        assert (status, out) == (2, "")
        assert err == "schemas/mass.yaml:1:1: error[E104]: unknown type\n"
    assert project.files() == before
    status, out, err = project("build", "--format", "json")
    assert (status, err, json.loads(out)[0]["code"]) == (2, "", "E104")
    assert project("check", "--format", "github").out.startswith("::error file=schemas/mass.yaml")


def test_machines_read_states_too(project: Project) -> None:
    project("build")
    (project.folder / "generated/mass.py").unlink()
    project.put("generated/sound.py", "mine = 1\n")
    assert reports(project) == [
        ("generated/mass.py", "E701", "MISSING", "run ecsgen build"),
        ("generated/sound.py", "E702", "HAND-EDITED", "run ecsgen build --force"),
    ]
    out = project("check", "--format", "github").out
    assert "::error file=generated/mass.py,title=E701::MISSING; run ecsgen build\n" in out
    project("build", "--force")
    assert reports(project) == []
    assert json.loads(project("build", "--format", "json").out) == []


def test_no_build_mends_what_is_no_file(project: Project) -> None:
    project("build")
    (project.folder / "generated/mass.py").unlink()
    (project.folder / "generated/mass.py").mkdir()
    status, out, _ = project("check")
    assert status == 2
    assert out.splitlines() == [
        "FOREIGN generated/mass.py",
        "generated: out of step, made for numpy",
        "to mend, after moving away what is not a file: ecsgen build",
    ]
    [(*_, hint)] = reports(project)
    assert hint == "it is a folder: move that away, then run ecsgen build"
    (project.folder / "generated/mass.py").rmdir()
    assert project("build")[0] == 0


def test_foreign_files_stay(project: Project) -> None:
    project.put("generated/mass.py", "mine = 1\n")
    project.put("generated/helpers.py", "mine = 2\n")
    project.put("generated/tests/notes/list.txt", "mine")
    before = project.files()
    status, _, err = project("build")
    assert (status, project.files()) == (2, before)
    assert "helpers" not in err
    status, out, _ = project("check")
    assert (status, "FOREIGN generated/mass.py" in out) == (2, True)
    assert project("diff").status == 2
    assert project("build", "--force").status == 0
    assert project.text("generated/mass.py") == "x = 1\n"
    for schema in ("mass", "sound"):
        (project.folder / f"schemas/{schema}.yaml").unlink()
    project.put("schemas/other.yaml", "")
    assert project("build", "--force").status == 0
    assert project.text("generated/helpers.py") == "mine = 2\n"
    assert project.text("generated/tests/notes/list.txt") == "mine"


def test_all_files_in_the_way_are_listed(project: Project) -> None:
    project.put("generated/mass.py", "mine = 1\n")
    (project.folder / "generated/sound.py").mkdir()
    project.put("generated/tests", "not a folder")
    os.mkfifo(project.folder / "generated/__init__.py")  # which would keep a reader waiting
    err = project("build").err
    assert err.splitlines() == [
        "generated/__init__.py: error[E703]: in the way: it is not a plain file",
        "generated/mass.py: error[E703]: in the way: ecsgen did not write it;"
        " to overwrite it: ecsgen build --force",
        "generated/sound.py: error[E703]: in the way: it is a folder",
        "generated/tests/test_mass.py: error[E703]: in the way: it is below a link or a file",
        "generated/tests/test_sound.py: error[E703]: in the way: it is below a link or a file",
    ]
    assert project("build", "--force").status == 2
    assert project.text("generated/mass.py") == "mine = 1\n"


def test_a_same_file_from_elsewhere_is_adopted(project: Project) -> None:
    project.put("generated/mass.py", "x = 1\n")
    assert project("build").out == "generated: 4 written, 0 deleted, 1 unchanged\n"
    (project.folder / MANIFEST).unlink()
    assert project("check")[:2] == (1, f"MISSING {MANIFEST}\nto mend: ecsgen build\n")
    assert project("build").out == "generated: 0 written, 0 deleted, 5 unchanged\n"
    assert project("check").status == 0


def test_orphans_go_with_their_folders(project: Project) -> None:
    project("build")
    project.put("generated/tests/__pycache__/test_mass.cpython-311.pyc", "")
    project.configure("tests = false")
    assert project("build").out == "generated: 0 written, 2 deleted, 3 unchanged\n"
    assert not (project.folder / "generated/tests").exists()
    assert project.manifest()["tests"] is None
    assert project("check").status == 0


def test_moved_tests(project: Project) -> None:
    project("build")
    project.put("checks/test_own.py", "mine = 1\n")
    project.configure('tests = "checks"')
    assert project("check").out.splitlines()[:2] == [
        "EXTRA generated/tests/test_mass.py",
        "EXTRA generated/tests/test_sound.py",
    ]
    assert project("build").out == "generated: 2 written, 2 deleted, 3 unchanged\n"
    assert not (project.folder / "generated/tests").exists()
    assert set(project.files("checks")) == {f"checks/test_{n}.py" for n in ("own", "mass", "sound")}
    assert project.manifest()["tests"] == "../checks"
    assert project("check") == IN_STEP
    project.put("checks/test_mass.py", "mine = 1\n")
    assert "HAND-EDITED checks/test_mass.py" in project("check").out
    project("build", "--force")
    (project.folder / "schemas/mass.yaml").unlink()
    assert project("build").status == 0
    assert set(project.files("checks")) == {"checks/test_own.py", "checks/test_sound.py"}
    # Outside the output folder nothing goes that no setting leads to.
    project.configure("tests = true")
    status, _, err = project("build")
    assert (status, err) == (
        0,
        "the tests in ../checks (from the output folder) are no longer ecsgen's\n",
    )
    assert (project.folder / "checks/test_sound.py").exists()
    assert project("check").status == 0


@pytest.mark.parametrize("path", ["../x.py", "/etc/x.py", "a/../../x.py", "C:/x.py", "a\\b.py", ""])
def test_hostile_manifests_lead_nowhere(project: Project, path: str) -> None:
    project("build")
    project.put("x.py", "x = 1\n")
    content = project.manifest()
    content["files"][path] = content["files"]["mass.py"]
    project.put(MANIFEST, json.dumps(content))
    status, out, err = project("check")
    assert status == 1
    assert out == f"CHANGED {MANIFEST}\nto mend: ecsgen build\n"
    assert "is no path inside the output folder" in err
    assert project("build", "--force").status == 0
    assert project.text("x.py") == "x = 1\n"
    assert project("check").status == 0


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"ecsgen": 1}', "<<<<<<< ours\n{}\n", "[" * 100_000, '{"files": []}'],
)
def test_broken_manifests(project: Project, text: str) -> None:
    project("build")
    project.put(MANIFEST, text)
    status, out, err = project("check")
    assert (status, out) == (1, f"CHANGED {MANIFEST}\nto mend: ecsgen build\n")
    assert err.startswith(f"{MANIFEST} can't be used")
    project.put("schemas/mass.yaml", "x=3")
    assert "generated/mass.py: error[E703]" in project("build").err
    assert project("build", "--force").status == 0
    assert project("check") == IN_STEP


def test_links_are_not_followed(project: Project) -> None:
    project("build")
    project.put("outside/mass.py", "x = 1\n")
    project.put("outside/test_sound.py", "mine")
    (project.folder / "generated/mass.py").unlink()
    (project.folder / "generated/mass.py").symlink_to(project.folder / "outside/mass.py")
    shutil.rmtree(project.folder / "generated/tests")
    (project.folder / "generated/tests").symlink_to(project.folder / "outside")
    assert project("build").status == 2
    assert project("build", "--force").status == 2
    (project.folder / "generated/tests").unlink()
    project.put("schemas/mass.yaml", "x=9")
    assert project("build", "--force").status == 0
    assert project.text("generated/mass.py") == "x = 9\n"
    assert project.files("outside") == {
        "outside/mass.py": b"x = 1\n",
        "outside/test_sound.py": b"mine",
    }


def test_links_in_place_of_our_own_folders(project: Project) -> None:
    (project.folder / "outside").mkdir()
    project("build")
    (project.folder / "generated/.ecsgen.new").symlink_to(project.folder / "outside")
    project.put("schemas/mass.yaml", "x=9")
    status, _, err = project("build")
    assert (status, err) == (2, "Error: generated/.ecsgen.new is in the way\n")
    (project.folder / "generated/.ecsgen.new").unlink()
    (project.folder / MANIFEST).rename(project.folder / "outside/m.json")
    (project.folder / MANIFEST).symlink_to(project.folder / "outside/m.json")
    assert "it is a link" in project("build", "--force").err
    assert not (project.folder / MANIFEST).is_symlink()
    assert (project.folder / "outside/m.json").exists()


def test_versions_are_compared(project: Project) -> None:
    project("build")
    content = project.manifest()
    project.put(MANIFEST, json.dumps(content | {"ecsgen": "0.0.1"}))
    status, out, err = project("check")
    assert out == (
        f"CHANGED {MANIFEST}\ngenerated: out of step, made for numpy\nto mend: ecsgen build\n"
    )
    assert status == 1
    assert f"the output came from ecsgen 0.0.1; this is ecsgen {content['ecsgen']}; " in err
    assert project("diff").err == err
    assert project("build").status == 0
    assert project.manifest() == content


def test_another_black_is_said_where_it_makes_other_files(project: Project) -> None:
    project("build")
    text = project.text(MANIFEST)
    elsewhere = text.replace('"black": "1.3"', '"black": "1.2"')
    project.put(MANIFEST, elsewhere)
    for _ in range(2):  # also without a cache
        assert project("check") == IN_STEP
        assert project("diff") == (0, "", "")
        (project.folder / CACHE).unlink(missing_ok=True)
    assert project("build") == UNCHANGED
    assert project("build") == project("check") == IN_STEP
    assert project.text(MANIFEST) == elsewhere
    project.put("generated/mass.py", "x=1\n")
    project.put(MANIFEST, elsewhere.replace(digest(b"x = 1\n"), digest(b"x=1\n")))
    status, out, err = project("check")
    assert (status, out.splitlines()[0]) == (1, "CHANGED generated/mass.py")
    assert err == "the output came from black 1.2; this is black 1.3; black==1.2 makes it so\n"
    assert project("build").out == "generated: 1 written, 0 deleted, 4 unchanged\n"
    assert project.text(MANIFEST) == text


def test_a_comment_in_a_schema_changes_no_output(project: Project) -> None:
    project("build")
    content = project.manifest()
    content["schemas"]["mass.yaml"] = "1" * 32
    project.put(MANIFEST, json.dumps(content))
    assert project("check") == IN_STEP
    assert project("check", "--format", "json").out == "[]\n"
    assert project("build") == UNCHANGED
    assert project.manifest() != content


def test_line_ends_of_schemas_change_no_byte(project: Project) -> None:
    project.put("schemas/mass.yaml", "x=1\n")
    project("build")
    before = project.files()
    (project.folder / "schemas/mass.yaml").write_bytes(b"x=1\r\n")
    assert project("build", "--force")[0] == 0
    assert project.files() == before


def another_generator(monkeypatch: pytest.MonkeyPatch, digit: str, makes: str = "") -> None:
    """One of the same version that makes another `mass.py` of the same schemas."""
    make = fake_generator.make

    def other(path: str, source: str) -> str:
        return make(path, makes if makes and path == "mass.py" else source)

    monkeypatch.setattr("ecsgen.fingerprint.generator", lambda: digit * 32)
    monkeypatch.setattr(fake_generator, "make", other)


def test_another_generator_is_noticed_where_it_makes_other_files(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project("build")
    before = project.files()
    another_generator(monkeypatch, "1")
    assert project("check") == IN_STEP
    assert len(fake_generator.made) == 5
    assert project("build") == UNCHANGED
    assert len(fake_generator.made) == 5
    assert project("check") == project("build") == IN_STEP
    assert fake_generator.made == []
    assert project.files() == before
    another_generator(monkeypatch, "2", makes="x = 7\n")
    for folder in ("generated", "clone/generated"):  # with the cache of the other, and without
        if folder != "generated":
            shutil.copytree(project.folder, project.folder / "clone")
            shutil.rmtree(project.folder / "clone/generated/__pycache__")
            os.chdir(project.folder / "clone")
        status, out, _ = project("check")
        assert (status, out.splitlines()[0]) == (1, "CHANGED generated/mass.py")
    assert project("build").out == "generated: 1 written, 0 deleted, 4 unchanged\n"
    assert project("check") == IN_STEP


@pytest.mark.parametrize("cache", [None, "", "{", "[]", '{"files": []}', "[" * 100_000])
def test_without_a_cache_files_are_made_to_be_compared(project: Project, cache: str | None) -> None:
    """As in a clone, which nobody has built in, or if it is broken: `check` mends none either."""
    project("build")
    if cache is None:
        shutil.rmtree(project.folder / "generated/__pycache__")
    else:
        project.put(CACHE, cache)
    for _ in range(2):
        assert project("check") == IN_STEP
        assert len(fake_generator.made) == 5
    assert project("build") == UNCHANGED
    assert project("build") == IN_STEP
    assert fake_generator.made == []


def test_what_is_edited_together_with_its_digest_is_noticed(project: Project) -> None:
    project("build")
    content = project.manifest()
    project.put("generated/mass.py", "x = 8\n")
    content["files"]["mass.py"]["output"] = digest(b"x = 8\n")
    project.put(MANIFEST, json.dumps(content))
    assert project("check").out.startswith("CHANGED generated/mass.py\n")


def test_the_cache_of_other_schemas_spares_what_is_the_same(project: Project) -> None:
    """As behind a merge: one file is made, and a build keeps that too."""
    project("build")
    cache = project.text(CACHE)
    project.put("schemas/mass.yaml", "x=3")
    project("build")
    project.put(CACHE, cache)
    assert project("check") == IN_STEP
    assert fake_generator.made == ["mass.py"]
    assert project("build") == UNCHANGED
    assert project("build") == IN_STEP
    assert fake_generator.made == []


def test_the_cache_follows_no_links_and_may_be_in_vain(project: Project) -> None:
    project.put("outside/ecsgen.json", "mine")
    project.put("outside/.gitignore", "mine")
    (project.folder / "generated").mkdir()
    cache = project.folder / "generated/__pycache__"
    cache.symlink_to(project.folder / "outside")
    assert project("build").status == 0
    assert project("build") == UNCHANGED
    cache.unlink()
    cache.mkdir()
    for name in ("ecsgen.json", ".gitignore"):
        (cache / name).symlink_to(project.folder / "outside" / name)
    assert project("build") == UNCHANGED
    assert project("build") == IN_STEP
    assert {*project.files("outside").values()} == {b"mine"}
    shutil.rmtree(cache)
    project.put("generated/__pycache__", "a file")
    assert project("build") == project("build") == UNCHANGED


def test_git_sees_no_cache(project: Project) -> None:
    project("build")
    subprocess.run(["git", "init", "-q", project.folder], check=True)
    status = ["git", "-C", str(project.folder), "status", "--porcelain", "-uall"]
    listed = subprocess.run(status, check=True, capture_output=True, text=True).stdout
    assert MANIFEST in listed
    assert "__pycache__" not in listed
    assert project("build") == IN_STEP  # so there is one


def test_manifests_that_hold_what_a_cache_does_are_read(project: Project) -> None:
    """As those of earlier builds do: they are in step, and the next build leaves it out."""
    project("build")
    text = project.text(MANIFEST)
    content = project.manifest() | {"generator": "1" * 32}
    content["files"]["mass.py"]["inputs"] = "0" * 32
    project.put(MANIFEST, json.dumps(content))
    assert project("check") == IN_STEP
    assert project("build") == UNCHANGED
    assert project.text(MANIFEST) == text


class Died(BaseException):
    """The process was killed: no handler runs."""


def die_after(moves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    replace: Callable[..., None] = os.replace
    left = iter(range(moves))

    def replace_or_die(*places: Path) -> None:
        if next(left, None) is None:
            raise Died
        replace(*places)

    monkeypatch.setattr(os, "replace", replace_or_die)


@pytest.mark.parametrize("moves", range(8))
def test_killed_in_the_middle(project: Project, moves: int) -> None:
    """Wherever a build dies, the next one finishes, even if the schemas changed in between."""
    project("build")
    project.put("schemas/mass.yaml", "x=3")
    project.put("schemas/sound.yaml", "x=4")
    project.put("schemas/ai.yaml", "x=5")
    with pytest.MonkeyPatch.context() as patch:
        die_after(moves, patch)
        if moves < 7:  # four files, the manifest, and two for the cache
            with pytest.raises(Died):
                main(["build"])
        else:
            assert project("build").status == 0
    again = project.folder / "again"
    shutil.copytree(project.folder, again)
    assert project("build").status == 0
    finished = project.files()
    assert project("check").out == "generated: 7 files in step, made for numpy\n"
    # Dies once more with other schemas, and a schema that was new is gone again.
    os.chdir(again)
    other = Project(again)
    other.put("schemas/mass.yaml", "x=6")
    (again / "schemas/ai.yaml").unlink()
    with pytest.MonkeyPatch.context() as patch:
        die_after(1, patch)
        with pytest.raises((Died, SystemExit)):
            main(["build"])
    other.put("schemas/mass.yaml", "x=7")
    assert other("build").status == 0
    assert other("check") == IN_STEP
    assert other.text("generated/mass.py") == "x = 7\n"
    assert not any(".ecsgen.new" in path for path in (*other.files(), *finished))


def test_a_full_disk_changes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bytes, refused = Path.write_bytes, "3.tmp"

    def refuse(self: Path, content: bytes) -> int:
        if self.name == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return write_bytes(self, content)

    monkeypatch.setattr(Path, "write_bytes", refuse)
    status, _, err = project("build")
    assert status == 2
    assert err.startswith("Error: can't write ")
    assert err.endswith("No space left on device; nothing was changed\n")
    assert not (project.folder / "generated").exists()
    refused = ""
    project("build")
    before = project.files()
    project.put("schemas/mass.yaml", "x=3")
    refused = "0.tmp"
    assert project("build").status == 2
    assert project.files() == before


def test_a_fault_of_ours_is_3(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.put("schemas/mass.yaml", "x = (")
    status, _, err = project("build")
    assert status == 3
    assert "mass.py" in err
    assert "This is a fault of ecsgen" in err
    assert not (project.folder / "generated").exists()
    monkeypatch.setattr("ecsgen.build._outputs", lambda *_: 1 / 0)
    assert project("check").status == 3


def test_an_unsafe_output_path_is_a_fault(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("../x.py", "a//b.py", ".ecsgen.json", "__INIT__.py"):
        bad = [fake_generator._output("__init__.py", ""), fake_generator._output(path, "")]
        monkeypatch.setattr("ecsgen.build._outputs", lambda *_, bad=bad: bad)
        assert project("build").status == 3
    assert not (project.folder / "generated").exists()


def test_ctrl_c_is_130(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ecsgen.build._outputs", interrupt)
    status, _, err = project("build")
    assert (status, err.strip()) == (130, "interrupted; the next build repairs what is incomplete")
    status, _, err = project("check")
    assert (status, err.strip()) == (130, "interrupted")


def test_several_processes_make_the_same(project: Project) -> None:
    """And a fault in one of them is ecsgen's, too."""
    for number in range(60):
        project.put(f"schemas/many{number}.yaml", f"x  =  {number}")
    project.put("schemas/many0.yaml", "x = (")
    assert project("build", "--jobs", "2").status == 3
    assert not (project.folder / "generated").exists()
    project.put("schemas/many0.yaml", "x  =  0")
    assert project("build", "--jobs", "2").status == 0
    assert fake_generator.made == []  # all of it happened elsewhere
    several = project.files()
    shutil.rmtree(project.folder / "generated")
    assert project("build", "--jobs", "1").status == 0
    assert len(fake_generator.made) == 125
    assert project.files() == several


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for processes")
def test_several_processes_that_are_interrupted_say_so_once(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    for number in range(60):
        (tmp_path / "schemas" / f"c{number}.yaml").write_text(f"component: C{number}\n")
    command = [sys.executable, "-m", "ecsgen", "build", "schemas", "-o", "made", "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    begun = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and len(begun.read_text().split()) < 2:
        time.sleep(0.01)
    time.sleep(0.15)  # others import now what they need
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.strip().startswith("interrupted; ")
    assert errors.strip().count("\n") == 0, errors


def test_line_length(project: Project) -> None:
    project.put("schemas/mass.yaml", f"x = [{', '.join(['1000'] * 12)}]")
    project("build")
    assert project.text("generated/mass.py").count("\n") == 1
    project.configure("line_length = 60")
    assert "CHANGED generated/mass.py" in project("check").out
    assert project("build").out == "generated: 1 written, 0 deleted, 4 unchanged\n"
    assert project.text("generated/mass.py").count("\n") > 1


ROOT = Path(__file__).parents[2]
BODY = "component: Body\nfields: {mass: f32}\n"
PATIENCE = 60
"""Seconds: a busy machine is slow, and nothing here waits for nothing."""


class Watched:
    """A process that watches, and what it says."""

    def __init__(self, folder: Path, path: str) -> None:
        self._output, self._read = folder / "output.txt", 0
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ecsgen", "build", "--watch"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def until(self, text: str) -> str:
        """Wait until it says a text, and return what is new up to there."""
        end = time.monotonic() + PATIENCE
        while text not in (unread := self._output.read_text()[self._read :]):
            assert time.monotonic() < end, unread
            time.sleep(0.02)
        said_before, _, _ = unread.partition(text)
        self._read += len(said_before) + len(text)
        return said_before


@pytest.fixture(params=["watchfiles", "looking"])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    """With the library that tells of changes, and as if it were not there."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "body.yaml").write_text(BODY)
    path = str(ROOT)
    if request.param == "looking":
        (tmp_path / "without").mkdir()
        (tmp_path / "without" / "watchfiles.py").write_text("raise ImportError\n")
        path = f"{tmp_path / 'without'}{os.pathsep}{path}"
    command = Watched(tmp_path, path)
    yield command
    command.process.kill()
    command.process.wait()


def test_watching(watched: Watched, tmp_path: Path) -> None:
    schema, module = tmp_path / "schemas" / "body.yaml", tmp_path / "generated" / "body.py"
    assert "written" in watched.until("watching schemas; Ctrl-C ends")

    schema.write_text(BODY.replace("mass", "weight"))
    watched.until("watching")
    good = module.read_text()
    assert "def weight" in good

    schema.write_text(BODY.replace("f32", "f33"))
    assert "error[E104]" in watched.until("watching")
    assert module.read_text() == good

    (tmp_path / "pyproject.toml").write_text("[tool.ecsgen]\nbackend = 'fortran'\n")
    assert "Error: pyproject.toml: [tool.ecsgen] backend" in watched.until(
        "watching pyproject.toml"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.ecsgen]\nheader = 'Ours'\n")
    watched.until("watching schemas")
    schema.write_text(BODY)
    watched.until("written")
    watched.until("watching")
    assert module.read_text().startswith("# Ours\n")

    (tmp_path / "schemas" / "more").mkdir()
    (tmp_path / "schemas" / "more" / "place.yaml").write_text("component: Place\n")
    watched.until("watching")
    assert (tmp_path / "generated" / "place.py").exists()
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(PATIENCE) == 0


ODD = [kind for kind in Kind if kind not in (Kind.NOTHING, Kind.FILE, Kind.LINK)]


@pytest.mark.parametrize(
    ("wanted", "last", "entry", "verdict"),
    [
        pytest.param("new", "new", "new", "IN STEP keep keep", id="as before"),
        pytest.param("new", "old", "new", "IN STEP keep keep", id="kept"),
        pytest.param("new", "old", "old", "CHANGED write write", id="changed"),
        pytest.param("new", "", Kind.NOTHING, "MISSING write write", id="missing"),
        pytest.param("new", "new", Kind.NOTHING, "MISSING write write", id="deleted"),
        pytest.param("new", "old", "mine", "HAND-EDITED refuse write", id="edited"),
        pytest.param("new", "", "mine", "FOREIGN refuse write", id="foreign"),
        pytest.param("new", "", Kind.LINK, "FOREIGN refuse write", id="linked"),
        pytest.param("new", "old", Kind.LINK, "FOREIGN refuse write", id="linked since"),
        *(("new", last, kind, "FOREIGN refuse refuse") for last in ("", "old") for kind in ODD),
        pytest.param("new", "old", "between", "CHANGED write write", id="half"),
        pytest.param("", "old", "old", "EXTRA delete delete", id="extra"),
        pytest.param("", "old", "mine", "HAND-EDITED refuse delete", id="extra, edited"),
        *(("", "old", kind, "IN STEP keep keep") for kind in (Kind.NOTHING, Kind.LINK, *ODD)),
    ],
)
def test_each_state(wanted: str, last: str, entry: str | Kind, verdict: str) -> None:
    """With and without `--force`, for all that may be there: a file with a digest, or none.

    Unasked, nothing is touched but what is ours; nothing is ever deleted that never was. `between`
    is the digest of an interrupted build.
    """
    there = DiskEntry(entry) if isinstance(entry, Kind) else DiskEntry(Kind.FILE, entry)
    digests = [{"a.py": name} if name else {} for name in (wanted, last)]
    half = {"a.py": "between"} if last else {}
    [judged] = plan(digests[0], [digests[1], half], {"a.py": there}).values()
    words = (judged.state.value, judged.action.value, judged.forced.value)
    assert " ".join(words) == verdict
