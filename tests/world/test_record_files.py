"""Tables as files: in parts, each of which is complete or not there."""

from __future__ import annotations

import csv
import errno
import gc
import inspect
import io
import os
import signal
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.records import record_files

from tests.support.fault_injection import Events, traced
from tests.support.threaded_ranks import ThreadComm, run
from tests.support.world_package import load, sources, world_package

pq = pytest.importorskip("pyarrow.parquet")

SCHEMA = """\
enum: Kind
values: {tame: 1, wild: 4}
---
enum: Mark
flags: true
values: [old, ill]
---
component: Sheep
fields: {energy: f64, kind: Kind, mark: Mark, woolly: bool}
---
world: Farm
SHARDS
records:
  population: {sheep: {count: Sheep}, energy: {sum: Sheep.energy}}
  herd: {rows: Sheep, fields: [energy, kind, mark, woolly]}
schedule: {step: [population, herd, tick]}
"""
SHARDED = SCHEMA.replace("SHARDS", "shards: {}")
SCHEMA = SCHEMA.replace("SHARDS\n", "")


@pytest.fixture
def world() -> Any:
    w = world_package(SCHEMA, "record_files").World()
    kinds = {"kind": [1, 4, 4], "mark": [0, 3, 2], "woolly": [True, False, True]}
    w.spawn(3, sheep={"energy": [0.5, 0.1, np.nan], **kinds})
    return w


def parts(folder: Path, table: str) -> list[str]:
    """The names of a table's files, without what a kill or an interrupt left of one."""
    return sorted(path.name for path in (folder / table).iterdir() if path.suffix != ".new")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_lines_become_files(world: Any, tmp_path: Path, format: str) -> None:
    world.records.population.write()
    world.records.open(tmp_path / "out", format, lines=7)
    for _ in range(20):
        world.step()
    out = tmp_path / "out"
    assert parts(out, "population") == [f"0000{k}.{format}" for k in range(3)]
    assert parts(out, "herd") == [f"{k:05}.{format}" for k in range(6)]  # nine lines each
    assert (len(world.records.population), len(world.records.herd)) == (0, 6)
    world.records.flush()
    world.records.flush()
    assert parts(out, "herd")[-1] == f"00006.{format}"
    world.step()
    world.records.close()
    world.step()
    assert (len(world.records.population), len(parts(out, "population"))) == (1, 4)
    tables = [read(out / "herd" / name) for name in parts(out, "herd")]
    assert [tick for table in tables for tick in table["tick"]] == [str(k // 3) for k in range(63)]
    assert tables[0]["kind"] == ["tame", "wild", "wild"] * 3
    assert tables[0]["mark"][1] == "old|ill"
    assert tables[0]["energy"] == ["0.5", "0.1", "nan"] * 3
    assert tables[0]["woolly"] == ["True", "False", "True"] * 3
    sheep = read(out / "population" / f"00000.{format}")
    assert (sheep["tick"], sheep["sheep"]) == ([*"0012345"], ["3"] * 7)


def read(path: Path) -> dict[str, list[str]]:
    """The columns of a file, as text."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            head, *lines = csv.reader(file)
        return dict(zip(head, map(list, zip(*lines, strict=True)), strict=True))
    columns = pq.read_table(path).to_pydict()
    return {name: [str(cell) for cell in cells] for name, cells in columns.items()}


def test_parquet_has_the_types(world: Any, tmp_path: Path) -> None:
    world.step()
    world.records.open(tmp_path)
    world.records.close()
    types = {f.name: str(f.type) for f in pq.read_schema(tmp_path / "herd" / "00000.parquet")}
    assert types.pop("kind").startswith("dictionary<values=string")
    assert types.pop("mark").startswith("dictionary<values=string")
    assert types == {"tick": "int64", "entity": "uint64", "energy": "double", "woolly": "bool"}
    assert world.records.herd.to_arrow().num_rows == 0


def test_what_is_there_is_not_written_over(world: Any, tmp_path: Path) -> None:
    world.step()
    world.records.open(tmp_path, "csv")
    world.records.close()
    world.step()
    for format in record_files.FORMATS:
        with pytest.raises(FileExistsError, match="population"):
            world.records.open(tmp_path, format)
    world.records.open(tmp_path, append=True)
    with pytest.raises(ValueError, match="close"):
        world.records.open(tmp_path / "other")
    world.records.close()
    assert parts(tmp_path, "population") == ["00000.csv", "00001.parquet"]
    (tmp_path / "one" / "herd").mkdir(parents=True)
    (tmp_path / "one" / "herd" / "notes.txt").touch()  # none of ours
    world.records.open(tmp_path / "one")


def test_a_folder_has_one_writer_at_a_time(world: Any, tmp_path: Path) -> None:
    other = deepcopy(world)
    world.records.open(tmp_path, "csv")
    with pytest.raises(BlockingIOError, match=rf"process {os.getpid()} writes this.*{tmp_path}"):
        other.records.open(tmp_path, "csv", append=True)
    other.records.open(tmp_path / "other", "csv")
    for writer in (world, other):
        writer.records.population.write()
        writer.records.close()
    other.records.open(tmp_path, "csv", append=True)
    other.records.population.write()
    other.records.close()
    assert parts(tmp_path, "population") == ["00000.csv", "00001.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("herd", "other", "population", "provenance.jsonl")
    ]


def test_who_is_gone_or_was_refused_keeps_nobody_away(world: Any, tmp_path: Path) -> None:
    other = deepcopy(world)
    other.records.open(tmp_path, "csv")
    other.records.population.write()
    other.records.flush()
    del other
    with pytest.raises(FileExistsError) as held:
        world.records.open(tmp_path, "csv")
    world.records.open(tmp_path, "csv", append=True)
    assert held.tb is not None  # whose frames have all that was made before it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked")
@pytest.mark.filterwarnings("ignore")  # of forks where there are threads
def test_a_forked_process_neither_writes_nor_keeps_others_away(world: Any, tmp_path: Path) -> None:
    world.records.open(tmp_path, "csv")
    world.records.population.write()
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            world.records.flush()
        except BlockingIOError as error:
            os.write(writing, str(error).encode())
        finally:
            os.read(reading, 1)  # what the parent says at the end
            os._exit(0)
    try:
        limit = time.monotonic() + 30
        while not (message := os.read(reading, 500)) and time.monotonic() < limit:
            time.sleep(0.01)
        assert f"process {os.getpid()} writes this" in message.decode()
        world.records.close()
        world.records.open(tmp_path, "csv", append=True)
        assert parts(tmp_path, "population") == ["00000.csv"]
    finally:
        os.write(writing, b"x")
        os.waitpid(child, 0)


@pytest.mark.parametrize("first", range(16))
@pytest.mark.filterwarnings("ignore")  # of files that it leaves to the collector
def test_an_interrupt_loses_no_line_and_writes_none_twice(
    world: Any, tmp_path: Path, first: int
) -> None:
    """Wherever it comes, each line is in memory or in a file, and what follows goes on."""
    for number in range(first + 1, 2000, 16):
        folder, w = tmp_path / str(number), deepcopy(world)
        w.records.open(folder, "csv", lines=2)
        w.records.population.write()
        events = Events(number, package="ecsgen_runtime")

        def act(w: Any = w) -> None:
            w.records.population.write()
            w.records.herd.write()
            w.records.flush()
            w.records.close()

        is_interrupted = isinstance(traced(events, act), KeyboardInterrupt)
        for table, most in (("population", 2), ("herd", 3)):
            lines = len(getattr(w.records, table)) + sum(
                len(read(folder / table / name)["tick"]) for name in parts(folder, table)
            )
            assert lines in ((most - 1, most) if table == "population" else (0, most)), events.where
        w.records.close()
        w.records.open(folder, "csv", append=True)
        w.records.population.write()
        w.records.close()
        written = sum(
            len(read(folder / "population" / n)["tick"]) for n in parts(folder, "population")
        )
        assert written in (2, 3), events.where
        if not is_interrupted:
            assert number > 100
            gc.collect()
            return
    raise AssertionError("no end")


def test_a_table_for_pandas_needs_no_arrow(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", "23.0")  # which gives pandas categories with unsigned indices
    world.step()
    expected = world.records.herd.to_arrow().to_pandas()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = world.records.herd.to_pandas()
    pandas.testing.assert_frame_equal(table, expected)


def test_numbers_that_no_member_has_are_told_where_they_are(world: Any, tmp_path: Path) -> None:
    world.records.open(tmp_path, "csv")
    world.step()
    world.sheep.data.kind[1] = 7
    world.step()
    for write in (world.records.flush, world.records.herd.to_arrow):
        with pytest.raises(ValueError, match=r"^herd\.kind: line 4: 7 is no member of Kind$"):
            write()
    assert (parts(tmp_path, "herd"), len(world.records.herd)) == ([], 6)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"format": "json"}, ValueError),
        ({"lines": True}, TypeError),
        ({"lines": 0}, ValueError),
        ({"lines": -3}, ValueError),
        ({"lines": 1.5}, TypeError),
        ({"lines": "many"}, TypeError),
    ],
)
def test_what_is_refused(
    world: Any, tmp_path: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        world.records.open(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    world.records.open(tmp_path / "out")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_no_room(world: Any, tmp_path: Path, format: str, monkeypatch: Any) -> None:
    """The disk is full in the middle of a file: no file, and no line is lost."""
    world.records.open(tmp_path, format, lines=2)
    world.step()
    left = [10]

    class Full(io.BufferedWriter):
        def write(self, data: Any) -> int:
            left[0] -= len(data)
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(io, "BufferedWriter", Full)
    with pytest.raises(OSError, match="No space left"):
        world.step()
    assert (parts(tmp_path, "population"), len(world.records.population)) == ([], 2)
    with pytest.raises(OSError, match="No space left"):
        world.records.close()
    monkeypatch.undo()
    world.records.population.write()
    assert (parts(tmp_path, "population"), len(world.records.population)) == (
        [f"00000.{format}"],
        0,
    )
    columns = read(tmp_path / "population" / f"00000.{format}")
    assert columns["tick"] == ["0", "1", "1"]


@pytest.mark.skipif(os.name != "posix", reason="files have no limits")
def test_a_write_that_is_cut_short_is_no_file(world: Any, tmp_path: Path) -> None:
    code = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
sys.path.insert(0, {str(Path(inspect.getfile(type(world))).parents[1])!r})
from record_files import World
w = World()
w.spawn(3000, sheep={{"energy": 1.5}})
w.records.open({str(tmp_path)!r}, "csv", lines=1)
try:
    w.records.herd.write()
except OSError as error:
    print(error.errno, len(w.records.herd))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(errno.EFBIG), "3000"]
    assert parts(tmp_path, "herd") == []


KILLED = """
import sys
sys.path.insert(0, {folder!r})
from killed_records import World
w = World()
w.spawn(2000, sheep={{"energy": 1.5, "kind": 4}})
w.records.open({out!r}, {format!r}, lines=1)
w.step()
print("begun", flush=True)
while True:
    w.step()
"""


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_killed_process_leaves_whole_files(tmp_path: Path, format: str) -> None:
    for path, text in sources(load(SCHEMA)).items():
        file = tmp_path / "killed_records" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    code = KILLED.format(folder=str(tmp_path), out=str(out), format=format)
    for turn in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", code.replace("lines=1", "lines=1, append=True")],
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.05 + 0.037 * turn)
            process.send_signal(signal.SIGKILL)
    for table, lines in (("population", 1), ("herd", 2000)):
        names = parts(out, table)
        assert names
        assert names == [f"{k:05}.{format}" for k in range(len(names))]
        for name in names:
            file = out / table / name
            columns = read(file).values() if format == "csv" else pq.read_table(file).columns
            assert {len(cells) for cells in columns} == {lines}


def test_a_folder_stays_where_it_was_opened(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    world.records.open("out", "csv")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    world.step()
    world.records.close()
    assert parts(tmp_path / "out", "herd") == ["00000.csv"]


def test_each_rank_has_its_own_folder(tmp_path: Path) -> None:
    package = world_package(SHARDED, "sharded_record_files")

    def rank(comm: ThreadComm) -> list[int]:
        w = package.World()
        with package.Shards(w, comm) as shards:
            w.spawn(2 + comm.rank, sheep={})
            w.records.open(tmp_path, "csv")
            w.step()
            w.step()
            w.records.close()
            shards.save(tmp_path / "saved")
            shards.save(tmp_path / "saved", 7)
        return [shards.tick]

    assert run(2, rank) == [[7], [7]]
    for number in range(2):
        sheep = read(tmp_path / str(number) / "population" / "00000.csv")["sheep"]
        assert sheep == [str(2 + number)] * 2
    assert {"2.complete.json", "7.complete.json"} <= {
        p.name for p in (tmp_path / "saved").iterdir()
    }
    alone = package.World(shard=3)
    alone.records.open(tmp_path, "csv")
    alone.step()
    alone.records.close()
    assert parts(tmp_path / "3", "population") == ["00000.csv"]
