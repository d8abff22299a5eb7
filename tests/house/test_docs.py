"""README and docs: code blocks run, links lead somewhere, pictures are as their script makes them.

The yaml blocks of a page are its schemas; its python blocks run one after another in one namespace,
with the package made from them importable as `generated`. An expression that is followed by
`# → text` must have that repr. Blocks "yaml alone" are schemas by themselves. In console blocks
`ecsgen` runs as given, in a project of the page's schemas; of other commands the target or the file
must exist.

A page whose blocks name files in their first line (`# schemas/body.yaml`) is a walk: what it shows
is written, typed and run in the order of the page, beginning with an empty folder.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from textwrap import dedent
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from ecsgen.cli import ecsgen as command
from ecsgen.config import load_options
from ecsgen.render.text.black_style import Style
from tests.support.forgotten_modules import forget
from tests.support.world_package import load

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
KIND = re.compile(r"^(component|enum|world):", re.MULTILINE)
FILE = re.compile(r"# ([\w/]+\.(?:yaml|py))$", re.MULTILINE)
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DEBUGGER = re.compile(r"^\(Pdb\) (.*\n?)", re.MULTILINE)
EXPECTED = re.compile(r"# → (.*)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


NAMES = attrgetter("name")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and first line in the page."""

    language: str
    text: str
    line: int


def blocks(page: Path, *languages: str) -> list[Block]:
    """The page's blocks in these languages, in order."""
    text = page.read_text(encoding="utf-8")
    assert "\n```" not in FENCED.sub("", text), f"{page}: a block has no end"
    every = (
        Block(match[1].strip(), match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in FENCED.finditer(text)
    )
    return [block for block in every if block.language in languages]


def is_walk(page: Path) -> bool:
    return any(FILE.match(block.text) for block in blocks(page, "yaml"))


def with_blocks(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language) and not is_walk(page)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, and a `generated` that nobody has imported yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "generated"]:
        monkeypatch.delitem(sys.modules, name)
    yield tmp_path
    forget(tmp_path)


def write_schemas(page: Path, folder: Path) -> None:
    """Write a page's schemas; a page that shows none works with the shipped ones."""
    schemas = [block for block in blocks(page, "yaml") if KIND.search(block.text)]
    if not schemas:
        shutil.copytree(ROOT / "schemas", folder / "schemas")
        return
    (folder / "schemas").mkdir()
    for block in schemas:
        path = folder / "schemas" / f"line_{block.line}.yaml"
        path.write_text(block.text, encoding="utf-8")


def ecsgen(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("page", with_blocks("python"), ids=NAMES)
def test_python_blocks_run(page: Path, project: Path) -> None:
    write_schemas(page, project)
    with patch.object(Style, "is_formatted", return_value=True):  # black takes half of the time
        status, output = ecsgen("build", "schemas", "-o", "generated")
    assert status == 0, output
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        run(block, page, namespace)


def run(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run a block with its page's line numbers, checking the results that it tells."""
    source = "\n" * (block.line - 1) + block.text
    lines = source.splitlines()
    for node in ast.parse(source, str(page)).body:
        expected = EXPECTED.search(lines[(node.end_lineno or 0) - 1])
        if isinstance(node, ast.Expr) and expected:
            code = compile(ast.Expression(node.value), str(page), "eval")
            value = eval(code, namespace)
            assert repr(value) == expected[1].strip(), f"{page.name}:{node.lineno}"
        else:
            assert not expected, f"{page.name}:{node.lineno}: not an expression"
            exec(compile(ast.Module([node], []), str(page), "exec"), namespace)


def test_blocks_that_say_so_pass_mypy(project: Path) -> None:
    write_schemas(ROOT / "docs" / "api.md", project)
    assert ecsgen("build", "schemas", "-o", "generated")[0] == 0
    typed = [
        block.text
        for page in PAGES
        for block in blocks(page, "python")
        if block.text.startswith("# passes mypy --strict")
    ]
    assert typed
    for number, text in enumerate(typed):
        (project / f"block_{number}.py").write_text(text, encoding="utf-8")
    # The packages that it imports have a check of their own.
    options = ["--strict", "--follow-imports=silent", f"--cache-dir={project}/cache"]
    modules = [path.name for path in project.glob("block_*.py")]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *modules], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_extras_are_quoted() -> None:
    """Brackets mean something else to zsh: `pip install ecsgen[inspect]` fails there."""
    files = [
        *PAGES,
        *(path for top in ("ecsgen", "runtime", "testing") for path in (ROOT / top).rglob("*.py")),
    ]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"install\s+[\w-]+\[", text), f"{file}: an extra without quotes"


def test_the_tour_of_the_readme_runs_on_the_package_of_make_demo(project: Path) -> None:
    shutil.copytree(ROOT / "generated", project / "generated")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(ROOT / "README.md", "python"):
        run(block, ROOT / "README.md", namespace)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_what_stands_alone_is_valid(page: Path, project: Path) -> None:
    """Each schema of a block "yaml alone", and all on a page where nothing runs; options; Python
    that needs what is not here, such as a cluster."""
    schemas = blocks(page, "yaml alone")
    if not blocks(page, "python", "console") and page.name != "how-do-i-say.md":
        schemas += [block for block in blocks(page, "yaml") if KIND.search(block.text)]
    for block in schemas:
        load(block.text)
    for block in blocks(page, "toml"):
        (project / "pyproject.toml").write_text(block.text, encoding="utf-8")
        load_options()
    for block in blocks(page, "py"):
        ast.parse(dedent(block.text))


@pytest.mark.parametrize("page", with_blocks("console"), ids=NAMES)
def test_console_blocks(page: Path, project: Path) -> None:
    write_schemas(page, project)
    for block in blocks(page, "console"):
        for words, expected in commands(block):
            while "=" in words[0]:  # what the environment is to have
                del words[0]
            if words[0] == "ecsgen":
                status, output = ecsgen(*words[1:])
                assert status in (0, 1), output
                assert not expected or output.strip() == expected
            else:
                check_command(words)


def commands(block: Block) -> Iterator[tuple[list[str], str]]:
    """Each command of a console block, with the output that it shows."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, expected = part.partition("\n")
        yield shlex.split(line, comments=True), expected.strip()


def check_command(words: list[str]) -> None:
    """Check that what a shown command names is there."""
    program, *arguments = words
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(arguments) <= set(targets)
    elif program == "python":
        if arguments[0] == "-m":
            assert find_spec(arguments[1]), arguments[1]
        else:
            assert (ROOT / arguments[0]).is_file()
    else:
        assert program in ("pip", "pytest", "git")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_within_sentences_exist(page: Path) -> None:
    for line in re.findall(r"`ecsgen ([a-z][^`]*)`", page.read_text(encoding="utf-8")):
        called = command.commands[line.split()[0]]
        options = {o for it in called.params for o in (*it.opts, *it.secondary_opts)}
        assert set(re.findall(r"(?<![\w-])--[a-z-]+", line)) <= options | {"--help"}, line


@pytest.mark.parametrize("page", [page for page in PAGES if is_walk(page)], ids=NAMES)
def test_walk(page: Path, project: Path) -> None:
    if any("--backend numba" in block.text for block in blocks(page, "console")):
        pytest.importorskip("numba")
    session: dict[str, object] = {}
    for block in blocks(page, "yaml", "python", "console"):
        named = FILE.match(block.text)
        if named:
            path = project / named[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            session = session or {"__name__": "__main__"}
            run(block, page, session)
        else:
            assert block.language == "console", f"{page.name}:{block.line}: of no file"
            session = {}  # whoever types a command has left Python
            forget(project)
            for words, expected in commands(block):
                typed = DEBUGGER.findall(expected)
                shown = type_in(words, "".join(typed)).strip()
                assert shown.endswith(DEBUGGER.sub("(Pdb) ", expected).strip()), words


def type_in(words: list[str], lines: str) -> str:
    """Run a command of a walk, in its project; what installs something or takes long, in part.

    `lines`: what is typed while it runs.
    """
    settings = dict(word.split("=") for word in takewhile(lambda word: "=" in word, words))
    program, *arguments = words[len(settings) :]
    if program == "ecsgen":
        status, output = ecsgen(*arguments)
        assert status == 0 or (status, arguments[0]) in ((1, "breaking"), (1, "verify")), output
        return output
    if program in ("mkdir", "cd", "source", "pip") or arguments[:2] == ["-m", "venv"]:
        return ""
    assert program in ("python", "pytest"), words
    if program == "pytest":  # other tests run generated ones
        assert all(Path(argument).exists() for argument in arguments)
        return ""
    is_alone = not settings and not lines and len(arguments) == 1
    if is_alone and "__main__" not in Path(arguments[0]).read_text(encoding="utf-8"):
        return run_script(arguments[0])
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        input=lines,
        env={**os.environ, **settings},
    )
    stops = any(word.startswith("error:") for word in arguments)  # at the first such warning
    assert result.returncode == stops, result.stdout + result.stderr
    if not stops:
        return result.stdout
    return re.sub(r"^[ ~^]+\n", "", result.stderr, flags=re.MULTILINE)


def run_script(name: str) -> str:
    """Run a program that asks nothing and starts no processes, in this one: that of its own would
    import for a second."""
    shown = StringIO()
    with redirect_stdout(shown):
        runpy.run_path(name, run_name="__main__")
    forget(Path.cwd())
    return shown.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links(page: Path) -> None:
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        target, anchor = match.groups()
        if "://" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(path), f"{page.name} links to {target}#{anchor}"


def test_named_files_exist() -> None:
    inside = "contributing.md", "extending.md"
    pages = *(ROOT / "docs" / page for page in inside), ROOT / "CONTRIBUTING.md"
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    tops = "ecsgen|runtime|testing|templates|tests|benchmarks|docs|examples|schemas"
    named = re.findall(rf"`((?:{tops})/[\w./]*)`", text)
    assert len(named) > 20
    examples = {
        path for path in named if Path(path).name.partition(".")[0] in ("my_policy", "my_ability")
    }
    missing = {path for path in named if not (ROOT / path).exists()} - examples
    assert not missing
    folders = "ecsgen", "runtime", "testing", "generated", "tests", "docs"
    modules = [path.as_posix() for top in folders for path in (ROOT / top).rglob("*.py")]
    short = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text)) - examples
    assert not {name for name in short if not any(path.endswith(f"/{name}") for path in modules)}


def test_no_page_is_too_long_to_be_read() -> None:
    long = {page.name for page in PAGES if len(page.read_text("utf-8").split()) > 3000}
    assert long == {"CHANGELOG.md"}


def test_pages_are_few_words_together() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 60_000


SUBJECT = re.compile(
    r"(?:^|[.!?:;|] |^[-*] |\*\*)(?:Who|What|Whose|Whom|Whoever|Whatever)\b(?![^.!?|]*\?)",
    re.MULTILINE,
)
"""A question word where a sentence begins that is none."""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=NAMES)
def test_no_subject_is_a_clause(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = FENCED.sub("", text)
    assert [prose[match.start() :][:60] for match in SUBJECT.finditer(prose)] == []


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_begins_with_the_two_commands() -> None:
    first, *_ = blocks(ROOT / "README.md", "console")
    assert first.text.splitlines()[0].startswith("$ make demo")
    assert first.text.splitlines()[1].startswith("$ make test")


DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    ("script", "folder"), [("pictures.py", DOCS), ("policy_pictures.py", DOCS / "pictures")]
)
def test_pictures_are_as_their_script_draws_them(script: str, folder: Path, tmp_path: Path) -> None:
    with patch.object(sys, "argv", [script, str(tmp_path)]):
        runpy.run_path(str(DOCS / script), run_name="__main__")
    pictures = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    shown = {name: (folder / name).read_text(encoding="utf-8") for name in pictures}
    assert pictures == shown, f"run: python docs/{script}"


def test_what_assistants_read_is_as_its_script_writes_it() -> None:
    text = (DOCS / "llms.txt").read_text(encoding="utf-8")
    script = runpy.run_path(str(DOCS / "assistant_page.py"))
    assert text == script["page"](), "run: python docs/assistant_page.py"
    assert len(text.split()) <= 4000
    for name in script["MORE"]:
        assert (DOCS / name).is_file()


def test_every_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for file in (DOCS / "pictures").glob("*.svg"):
        assert f"pictures/{file.name})" in text
