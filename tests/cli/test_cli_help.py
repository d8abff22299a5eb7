"""Examples in the help of commands: each command has one, and it runs as shown."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ecsgen.cli import ecsgen as commands
from tests.support.command_project import Project

NAMES = sorted(commands.commands)


def shown_example(name: str) -> str:
    """Return the example at the end of a command's help."""
    command = commands.commands[name]
    help_text = command.get_help(click.Context(command, info_name=name))
    _, heading, text = help_text.partition("\n  Example:\n")
    assert heading, name
    return re.sub("^    ", "", text, flags=re.MULTILINE)


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of ecsgen."""
    for line in re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE):
        for part in line.replace('eval "$(', "").removesuffix(')"').split(" && "):
            if part.startswith("ecsgen "):
                yield shlex.split(part)[1:]


@pytest.mark.parametrize("name", NAMES)
def test_each_command_shows_an_example(name: str) -> None:
    lines = list(command_lines(shown_example(name)))
    assert name in [words[0] for words in lines]
    for command, *arguments in lines:
        commands.commands[command].make_context(command, arguments)


def test_each_command_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^- `ecsgen ([\w-]+)", page, flags=re.MULTILINE))
    assert listed == set(NAMES)


@pytest.mark.parametrize("name", ["check-run", "time"])
def test_a_whole_example(name: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*sys.modules]:
        if module.partition(".")[0] in ("generated", "town"):  # as the example calls its own
            monkeypatch.delitem(sys.modules, module)
    program, *shown = shown_example(name).split("\n\n$ ecsgen build\n")
    for file in re.split(r"^# (?=\S+\.\w+$)", program, flags=re.MULTILINE)[1:]:
        project.put(*file.split("\n", 1))
    assert project("build").status == 0
    ran = project(name, "town:run")
    (_, *expected), text = shown[0].splitlines(), ran.out + ran.err
    if name == "check-run":
        assert (ran.status, text.strip().splitlines()) == (1, expected)
    else:
        numbers = re.compile(r"[\d.]+%?")
        assert [numbers.sub("", line).split() for line in text.splitlines()] == [
            numbers.sub("", line).split() for line in expected
        ]
