"""`ecsgen breaking`: its sources, formats and exit statuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from ecsgen.breaking.older_schemas import READS_ALONE
from generated import World
from tests.support.command_project import run
from tests.support.world_package import world_package

ROOT = Path(__file__).parents[2]
OLD = "component: Body\nfields:\n  mass: f64\n  place: 'f32[2]'\n"
NEW = "component: Body\nfields:\n  mass: f32\n  at: 'f32[2]'\n"
RIGHT = """\
component: Body
fields:
  mass: f64
  at: {type: 'f32[2]', renamed_from: [place]}
  new: u8
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("old", OLD), ("schemas", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "body.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def committed(folder: Path) -> None:
    """Make a folder a repository whose one commit has what is there."""
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")


def codes(output: str) -> list[tuple[str, int]]:
    return [(report["code"], report["line"]) for report in json.loads(output)]


EXPECTED = [("E901", 2), ("E951", 2), ("E902", 3), ("E952", 3)]


def test_a_folder(folder: Path) -> None:
    done = run("breaking", "--against", "old", cwd=folder)
    assert done.returncode == 1
    assert done.stdout == "against old: 2 break saved data, 2 break code\n"
    first, line, caret, *_ = done.stderr.splitlines()
    assert first == (
        "schemas/body.yaml:2:1: error[E901]: saved values of the field 'place' of 'Body' would be"
        " refused: it is missing in the schemas; write 'renamed_from: [place]' at 'at', or"
        " 'removed: [place]' in 'Body'"
    )
    assert (line, caret) == ("fields:", "^~~~~~")


def test_what_was_mended(folder: Path) -> None:
    (folder / "schemas" / "body.yaml").write_text(RIGHT, encoding="utf-8")
    done = run("breaking", "schemas", "--against", "old", "--only", "data", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "against old: nothing breaks\n", "")
    done = run("breaking", "schemas", "--against", "old", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "against old: 1 breaks code\n")


def test_formats(folder: Path) -> None:
    done = run("breaking", "--against", "old", "--format", "json", cwd=folder)
    assert done.returncode == 1
    assert codes(done.stdout) == EXPECTED
    assert done.stderr == "against old: 2 break saved data, 2 break code\n"
    done = run("breaking", "--against", "old", "--format", "github", "--only", "code", cwd=folder)
    assert done.stdout.splitlines()[0] == (
        "::error file=schemas/body.yaml,line=2,col=1,endColumn=7,title=E951::the field 'place' of"
        " 'Body' is gone; put it back, or change the code that uses it"
    )
    done = run("breaking", "--against", "schemas", "--format", "json", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "[]\n")
    assert run("breaking", "--against", "old", "--only", "both", cwd=folder).returncode == 2


def test_a_revision_of_git(folder: Path) -> None:
    shutil.copy(folder / "old" / "body.yaml", folder / "schemas" / "body.yaml")
    (folder / "schemas" / "deep ä").mkdir()
    (folder / "schemas" / "deep ä" / "tag.yml").write_text("component: Tag\n")
    (folder / "schemas" / "notes.txt").write_text("not a schema")
    committed(folder)
    (folder / "schemas" / "body.yaml").write_text(NEW, encoding="utf-8")
    done = run("breaking", "--against", "git:HEAD", "--format", "json", cwd=folder)
    assert codes(done.stdout) == EXPECTED
    inside = folder / "schemas"
    done = run("breaking", ".", "--against", "git:HEAD", "--format", "json", cwd=inside)
    assert codes(done.stdout) == EXPECTED
    git(folder, "commit", "--quiet", "--all", "--message", "second")
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "against git:HEAD: nothing breaks\n")
    done = run("breaking", "--against", "git:HEAD~1", "--only", "data", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "against git:HEAD~1: 2 break saved data\n")
    shutil.move(inside / "deep ä" / "tag.yml", folder)
    done = run("breaking", "--against", "git:HEAD", "--format", "json", cwd=folder)
    assert codes(done.stdout) == [("E901", 0), ("E951", 0)]


def test_schemas_at_the_top_of_a_repository(folder: Path) -> None:
    top = folder / "old"
    committed(top)
    (top / "body.yaml").write_text(NEW, encoding="utf-8")
    done = run("breaking", "old", "--against", "git:HEAD", "--format", "json", cwd=folder)
    assert codes(done.stdout) == EXPECTED


def test_inside_a_hook_of_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed(folder)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "against git:HEAD: nothing breaks\n"), done.stderr


def test_errors_of_old_schemas_name_the_revision(folder: Path) -> None:
    (folder / "schemas" / "body.yaml").write_text("component: Body\nfields: {x: f33}\n")
    committed(folder)
    (folder / "schemas" / "body.yaml").write_text(NEW, encoding="utf-8")
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("git:HEAD:schemas/body.yaml:2:13: error[E104]: unknown type")


def test_settings_of_a_snapshot(tmp_path: Path) -> None:
    text = "component: Body\nfields: {x: f64}\n---\nworld: Town\nsettings: {dt: f64, size: i32}\n"
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "town.yaml").write_text(text, encoding="utf-8")
    world_package(text, "town_with_settings").Town().save(tmp_path / "town.snap")
    done = run("breaking", "--against", "town.snap", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "against town.snap: nothing breaks\n")
    text = text.replace("size: i32", "size: u8")
    (tmp_path / "schemas" / "town.yaml").write_text(text, encoding="utf-8")
    done = run("breaking", "--against", "town.snap", "--format", "json", cwd=tmp_path)
    assert [report["code"] for report in json.loads(done.stdout)] == ["E902", "E952"]


def test_a_snapshot(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    world = World()
    world.spawn(3, point_mass={})
    world.save(tmp_path / "town.snap", codecs={"*": None})
    done = run("breaking", "--against", "town.snap", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "against town.snap: nothing breaks\n")
    file = tmp_path / "schemas" / "point_mass.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"str[24]"', '"str[4]"'), encoding="utf-8")
    (tmp_path / "schemas" / "footprint.yaml").unlink()
    done = run("breaking", "--against", "town.snap", "--format", "json", cwd=tmp_path)
    reports = [(report["code"], report["path"]) for report in json.loads(done.stdout)]
    mass = "schemas/point_mass.yaml"
    assert reports == [("E901", "schemas"), ("E951", "schemas"), ("E902", mass)]


@pytest.mark.parametrize(
    ("against", "message"),
    [
        ("", "Error: --against names nothing\n"),
        ("nothing", "Error: can't read nothing: No such file or directory\n"),
        ("git:", "Error: '' is no revision of git\n"),
        ("git:--output=x", "Error: '--output=x' is no revision of git\n"),
        ("git:nope", "Error: git knows no revision 'nope'\n"),
        ("git:HEAD", "Error: there are no schemas in schemas at HEAD\n"),
    ],
)
def test_wrong_sources(folder: Path, against: str, message: str) -> None:
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "first")
    done = run("breaking", "--against", against, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def blob(folder: Path, path: str) -> Path:
    """The file that has a blob of the last commit."""
    command = ["git", "rev-parse", f"HEAD:{path}"]
    name = subprocess.check_output(command, cwd=folder, text=True).strip()
    return folder / ".git" / "objects" / name[:2] / name[2:]


def test_the_schemas_of_a_folder_with_the_name_of_a_pattern(folder: Path) -> None:
    names = ":(top)", "sch*"
    for name in names:
        shutil.copytree(folder / "schemas", folder / name)
    committed(folder)
    for name in names:
        done = run("breaking", name, "--against", "git:HEAD", cwd=folder)
        assert (done.returncode, done.stdout) == (0, "against git:HEAD: nothing breaks\n"), done


def _hostile(folder: Path) -> Path:
    """Make the repository's configuration name a program wherever it can; return where that
    writes."""
    marker, program = folder / "it ran", folder / "program"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    (folder / ".git" / "hooks" / "post-index-change").symlink_to(program)
    (folder / "attributes").write_text("* filter=evil diff=evil\n", encoding="utf-8")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\n", encoding="utf-8")
    programs = [
        *("core.alternateRefsCommand", "core.askPass", "core.editor", "core.fsmonitor"),
        *("core.gitProxy", "core.pager", "core.sshCommand", "credential.helper"),
        *("diff.evil.command", "diff.evil.textconv", "diff.external"),
        *("filter.evil.clean", "filter.evil.process", "filter.evil.smudge"),
        *("pager.cat-file", "pager.ls-tree", "pager.rev-parse", "remote.evil.uploadpack"),
    ]
    aliases = ("alias.cat-file", "alias.ls-tree", "alias.rev-parse")
    values = dict.fromkeys(programs, str(program)) | dict.fromkeys(aliases, f"!{program}")
    values |= {
        "core.attributesFile": str(folder / "attributes"),
        "core.hooksPath": str(folder / ".git" / "hooks"),
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "remote.evil.promisor": "true",
    }
    with (folder / ".git" / "config").open("a", encoding="utf-8") as config:
        for key, value in values.items():  # to let git write each of them takes a second
            section, *middle, variable = key.split(".")
            heading = " ".join([section, *(f'"{name}"' for name in middle)])
            config.write(f"[{heading}]\n{variable} = {value}\n")
    return marker


URLS = ["{top}", "file://{top}", "ext::{top}/program", "ssh://nowhere/x", "git://nowhere/x"]


@pytest.mark.parametrize(("url", "is_old"), [(URLS[2], False), *((url, True) for url in URLS)])
def test_a_repository_runs_no_program(
    folder: Path, url: str, is_old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even to fetch what it lacks; nor does it with an older git, which reads one variable."""
    if is_old:
        monkeypatch.delitem(READS_ALONE, "GIT_NO_LAZY_FETCH")
    committed(folder)
    missing = blob(folder, "schemas/body.yaml")
    marker = _hostile(folder)
    git(folder, "config", "remote.evil.url", url.format(top=folder))
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "against git:HEAD: nothing breaks\n"), done
    missing.unlink()
    subprocess.run(["git", "cat-file", "-p", "HEAD:schemas/body.yaml"], cwd=folder, check=False)
    assert marker.exists()  # as git itself does
    marker.unlink()
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "schemas/body.yaml at HEAD" in done.stderr
    assert not marker.exists()


@pytest.mark.parametrize("damage", ["gone", "empty", "cut short", "of something else"])
def test_a_blob_that_cannot_be_read(folder: Path, damage: str) -> None:
    for number in range(3):  # those before and behind it are there
        text = f"component: Tag{number}\n"
        (folder / "schemas" / f"{'amz'[number]}.yaml").write_text(text, encoding="utf-8")
    (folder / "schemas" / "big.yaml").write_text("component: Big\n# " + "x0y1" * 3000)
    committed(folder)
    file = blob(folder, "schemas/big.yaml")
    content = file.read_bytes()
    file.chmod(0o644)
    damaged = {
        "empty": b"",
        "cut short": content[:60],
        "of something else": content[:-20] + b"x" * 20,
    }
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(damaged[damage])
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("Error: git can't read schemas/big.yaml at HEAD: "), done
    assert "`git show HEAD:schemas/big.yaml` fetches it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_tree_that_cannot_be_read(folder: Path) -> None:
    committed(folder)
    blob(folder, "schemas").unlink()
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: git can't list schemas at HEAD: "), done


def test_a_blob_that_is_too_large_is_not_read(folder: Path) -> None:
    """The memory that it takes is that of other files."""
    large = folder / "schemas" / "large.yaml"
    with large.open("wb") as file:
        file.truncate(60 << 20)
    committed(folder)
    large.unlink()
    tracemalloc.start()
    try:
        done = run("breaking", "--against", "git:HEAD", cwd=folder)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "git:HEAD:schemas/large.yaml: error[E202]: the file is larger than 4 MiB\n"
    )
    assert most < 50 << 20


def test_against_the_last_commit_unless_told(folder: Path) -> None:
    committed(folder)
    assert run("breaking", cwd=folder).stdout == "against git:HEAD: nothing breaks\n"
    shutil.copy(folder / "old" / "body.yaml", folder / "schemas")
    done = run("breaking", "schemas", "--only", "data", cwd=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("against git:HEAD: ")
    done = run("breaking", "../schemas", "--only", "data", cwd=folder / "old")
    assert done.returncode == 1


def test_where_there_is_no_last_commit(folder: Path) -> None:
    """Outside a repository, and of installed packages."""
    done = run("breaking", "--against", "git:HEAD", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: git: not a git repository")
    asks = "Error: --against DIR, git:REV or SNAPSHOT says what to compare with, since "
    done = run("breaking", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{asks}git: not a")
    options = '[tool.ecsgen]\nschemas = ["package:generated"]\n'
    (folder / "pyproject.toml").write_text(options, encoding="utf-8")
    committed(folder)
    done = run("breaking", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{asks}all schemas are those of installed packages\n"


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 5000, b"\xff" * 8, OLD.encode()])
def test_what_is_no_snapshot(folder: Path, content: bytes) -> None:
    (folder / "town.snap").write_bytes(content)
    done = run("breaking", "--against", "town.snap", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: town.snap: ")
    assert len(done.stderr.splitlines()) == 1


def test_wrong_schemas_on_either_side(folder: Path) -> None:
    (folder / "old" / "body.yaml").write_text("component: body\n")
    done = run("breaking", "--against", "old", "--format", "json", cwd=folder)
    assert done.returncode == 2
    assert [report["path"] for report in json.loads(done.stdout)] == ["old/body.yaml"]
    shutil.copy(folder / "old" / "body.yaml", folder / "schemas")
    done = run("breaking", "--against", "old", cwd=folder)
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "E101" in line][1].startswith("schemas/")
