"""Checked runs: what they find, where, and that nothing of the kernel has happened then."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import StaleInstanceError

from ecsgen.checked import CheckError, checked, recorder, timed
from tests.support.generated_package import imported_package
from tests.support.threaded_ranks import ThreadComm, run
from tests.support.world_package import world_package

STEPS: list[tuple[str, dict[str, Any], str, str]] = [
    ("small = u8(k)", {"k": 256}, "wrap", "u8(k)"),
    ("small = k", {"k": -1}, "wrap", "small = k"),
    ("n1 = -n1", {"n1": -128}, "wrap", "-n1"),
    ("n1 = abs(n1)", {"n1": -128}, "wrap", "abs(n1)"),
    ("n2 = n2 ** 3", {"n2": 40}, "wrap", "n2 ** 3"),
    ("n4 *= n4", {"n4": 50_000}, "wrap", "n4 *= n4"),
    ("m2 = m2 + m2", {"m2": 40_000}, "wrap", "m2 + m2"),
    ("m4 <<= 31", {"m4": 7}, "", ""),
    ("m8 = m8 + m8", {"m8": np.uint64(2**63)}, "wrap", "m8 + m8"),
    ("m8 = u64(n1)", {"n1": -1}, "wrap", "u64(n1)"),
    ("n4 = i32(pay)", {"pay": np.inf}, "wrap", "i32(pay)"),
    ("k = i64(pay)", {"pay": 2.0**63}, "wrap", "i64(pay)"),
    ("k = i64(pay)", {"pay": -(2.0**63)}, "", ""),
    ("k = i64(pay)", {"pay": np.nan}, "nan", "i64(pay)"),
    ("k = dot(vec(k, k), vec(k, 1))", {"k": 2**40}, "wrap", "dot(vec(k, k), vec(k, 1))"),
    ("k = sum(vec(k, k))", {"k": 2**62}, "wrap", "sum(vec(k, k))"),
    ("pay = pay - pay", {"pay": np.inf}, "nan", "pay - pay"),
    ("pay = pay * w", {"pay": np.inf}, "nan", "pay * w"),
    ("pay = log(pay)", {"pay": -1.0}, "nan", "log(pay)"),
    ("pay = log(pay)", {"pay": 0.0}, "infinite", "log(pay)"),
    ("pay **= 0.3", {"pay": -1.0}, "nan", "pay **= 0.3"),
    ("pay = pay % 3", {"pay": np.inf}, "nan", "pay % 3"),
    ("pay %= k", {"k": 0}, "zero", "pay %= k"),
    ("pay = cos(pay)", {"pay": np.inf}, "nan", "cos(pay)"),
    ("pay = exp(pay)", {"pay": 1000.0}, "infinite", "exp(pay)"),
    ("w = pay", {"pay": 1e300}, "infinite", "w = pay"),
    ("w = f32(pay)", {"pay": 1e300}, "infinite", "f32(pay)"),
    ("pay = norm(vec(pay, 0.0))", {"pay": 1e200}, "infinite", "norm(vec(pay, 0.0))"),
    ("mark = pay + 1 > 2", {"pay": np.nan}, "", ""),
    ("v[k] = 1", {"k": -1}, "index", "v[k]"),
    ("pay = rate", {"k": 0}, "zero", "pay / k"),
    ("k = i64(pay / k)", {"k": 0}, "zero", "pay / k"),
    ("pay = pay if k == 0 else pay / k", {"k": 0}, "", ""),
    ("mark = k == 0 or pay / k > 1", {"k": 0}, "", ""),
    ("v = v if v == v else v / k", {"k": 0}, "", ""),
    ("pay = pay / k  # allow: zero", {"k": 0}, "", ""),
    ("pay = pay / k  # allow: zero", {"k": 0, "pay": 0.0}, "", ""),
    ("pay = pay / k  # allow: nan", {"pay": 0.0, "k": 0}, "zero", "pay / k"),
]
"""Steps of a kernel of persons, fields of the second one, and what is found there."""
SCHEMA = """\
enum: Mood
values: [calm, cross]
---
component: Firm
fields: {size: i64, cash: f64, small: u8, shares: "f64[3]"}
---
component: Person
fields:
  {home: entity, pay: f64, small: u8, k: i64, v: "f64[3]", at: "f64[2]", w: f32, mark: bool,
  n1: i8, n2: i16, n4: i32, m2: u16, m4: u32, m8: u64}
space: {field: at}
derived: {rate: pay / k, unread: pay * 2}
kernels:
  share: {steps: [pay = pay / k]}
  age: {steps: [small += 1]}
  root: {args: {x: f64}, where: sqrt(x) > 1, steps: [pay = 1]}
  grow: {steps: [pay += 1]}
  fork:
    steps: |
      if (pay > 0
              # of those who earn
              and pay / k > 3):
          pay = 1
  chain: {steps: ["mark = 0 < rate < 1e300"]}
  meet: {near: 5, steps: [pay = mean(other.pay)]}
  add_up: {near: 5, steps: [k = sum(other.k)]}
  pick: {near: 5, where: k < 1, steps: ["w = min_by(f32(1), other.pay, 1 / (other.k - 1))"]}
  each: {args: {x: {type: f64, each: true}}, steps: [pay = 1 / x]}
  bump: {steps: ["v[i64(pay / k)] += 1"]}
  take_turns: {turns: {by: 1 / pay + 1 / k}, steps: [pay = 1]}
  move:
    args: {mood: Mood, moods: {type: Mood, each: true}, to: {type: entity, each: true},
      spot: id<Ground>, spots: "id<Ground>[2]"}
    steps: |
      mark = mood == moods and spot == spots[1]
      home = to
STEPS
reductions:
  mean_rate: {mean: pay / k, where: k != 2}
  keen: {count: pay / k > 9}
  above: {sum: pay - Person.mean_rate()}
  both: {sum: Person.above() - Person.mean_rate()}
---
component: Ground
grid: {shape: [3, 3]}
---
world: Town
kernels:
  visit: {over: Person, steps: [Person.pay = Person.home.Firm.cash]}
  inherit: {over: Person, where: Person.home == 0, steps: [Person.pay = Person.home.Person.rate]}
  call_on: {over: Person, where: exists(Person.home.Firm), steps: [Person.pay = 1]}
  join: {over: Person, steps: [Person.home.Firm.small += 200]}
  hold: {over: Person, steps: ["Person.home.Firm.shares[Person.k] += 1"]}
  leave: {over: Person, turns: random, steps: [Person.small -= 1]}
  owe: {over: Person, turns: rows, steps: [Person.home.Firm.cash = 1]}
  end: {over: Person, steps: [destroy(Person.home)]}
  bear:
    over: Person
    steps: ["spawn(Person(small=Person.k), where=Person.k > 100)"]
  begin: {over: Person, steps: ["Person.mark = tick > 0"]}
  pool: {over: Person, steps: [settings.fund += 100]}
  spend: {over: Person, turns: rows, steps: [settings.fund -= Person.small]}
  price: {over: Person, where: Person.k != 1, steps: [settings.price = Person.pay]}
  compare: {over: Person, steps: [Person.pay = Person.mean_rate()]}
  add: {over: Person, where: Person.k == 5, steps: [settings.price += f32(Person.pay)]}
settings: {fund: u8, price: f32, rates: "f64[2]"}
schedule:
  day: [begin, Person.grow, Person.share, tick]
  repeat: [{run: Person.grow, while: Person.keen, at_most: 3}]
  night:
    - {set: settings.price, to: "f32(1e30)"}
    - set: settings.rates[1]
      to: "1 / Person.mean_rate()"
    - {set: settings.fund, to: u8(400 * Person.mean_rate())}  # allow: nan
records:
  gaps: {gap: {max: Person.pay - Person.above()}}
  rich: {rows: Person, where: Person.pay / Person.k > 9, fields: [Person.pay]}
  listed: {rows: Person, fields: [Person.k, Person.rate]}
""".replace(
    "STEPS\n",
    "".join(f'  step_{n}: {{steps: ["{step}"]}}\n' for n, (step, *_) in enumerate(STEPS)),
)


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    folder, name = tmp_path_factory.mktemp("checked"), f"town_of_{request.param}"
    with imported_package(folder, name, "town.yaml", SCHEMA, request.param) as module:
        yield module


def schemas(package: Any) -> Path:
    return Path(package.__file__).parent.parent / "schemas"


def error_of(package: Any, world: Any, call: Callable[[], object]) -> CheckError:
    """Return what a call raises in a checked run."""
    with checked(world, schemas(package)), pytest.raises(CheckError) as raised:
        call()
    return raised.value


def town(package: Any, **fields: Any) -> Any:
    """Return a town of three persons and a firm, of which the second person is special."""
    world = package.Town()
    world.seed = 1
    values = {"pay": 1.0, "k": 1, "home": int(world.spawn(1, firm={})[0])}
    columns = {name: np.full(3, value) for name, value in values.items()}
    for name, value in fields.items():
        columns[name] = columns.get(name, np.zeros(3, np.int64)).astype(np.result_type(type(value)))
        columns[name][1] = value
    world.spawn(3, person=columns)
    return world


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    *((f"person.step_{n}", f, kind, part) for n, (_, f, kind, part) in enumerate(STEPS)),
    ("person.share", {"pay": np.inf, "k": 1}, "", ""),
    ("person.age", {"small": 255}, "wrap", "small += 1"),
    ("inherit", {"home": 0}, "null", "Person.home.Person.rate"),
    ("person.meet", {}, "", ""),
    ("person.add_up", {"k": 2**63 - 1}, "wrap", "sum(other.k)"),
    ("person.pick", {"k": 0}, "zero", "1 / (other.k - 1)"),
    ("person.mean_rate", {"k": 2}, "", ""),
    ("person.above", {"k": 0}, "zero", "pay / k"),
    ("records.gaps.write", {"k": 0}, "zero", "pay / k"),
    ("records.listed.write", {"k": 0}, "zero", "pay / k"),
    ("records.rich.write", {"k": 0}, "zero", "Person.pay / Person.k"),
    ("compare", {"k": 0}, "zero", "pay / k"),
    ("pool", {}, "wrap", "settings.fund += 100"),
    ("spend", {"small": 5}, "wrap", "settings.fund -= Person.small"),
    ("price", {"k": 0, "pay": 1e300}, "infinite", "settings.price = Person.pay"),
    ("add", {"k": 5, "pay": np.inf}, "", ""),
    ("visit", {"home": 0}, "null", "Person.home.Firm.cash"),
    ("call_on", {"home": 0}, "", ""),
    ("join", {}, "wrap", "Person.home.Firm.small += 200"),
    ("join", {"home": 0}, "null", "Person.home.Firm.small += 200"),
    ("hold", {"k": 3}, "index", "Person.home.Firm.shares[Person.k]"),
    ("hold", {"k": 3, "home": 0}, "null", "Person.home.Firm.shares[Person.k] += 1"),
    ("leave", {"small": 0}, "wrap", "Person.small -= 1"),
    ("owe", {"home": 0}, "null", "Person.home.Firm.cash = 1"),
    ("end", {"home": 0}, "", ""),
    ("bear", {"k": 256}, "wrap", "Person.k"),
    ("bear", {"k": 1}, "", ""),
    ("day", {"k": 0}, "zero", "pay / k"),
    ("repeat", {"k": 0}, "zero", "pay / k"),
]


@pytest.mark.parametrize(("name", "fields", "kind", "expression"), CASES)
def test_finding(
    package: Any, name: str, fields: dict[str, Any], kind: str, expression: str
) -> None:
    if not kind and package.__name__.endswith("numba"):
        pytest.skip("what is compiled has no part in it")
    world = town(package, **fields)
    before = pickle.dumps(world)
    call: Callable[[], object] = world
    for part in name.split("."):
        call = getattr(call, part)
    with checked(world, schemas(package)):
        if not kind:
            call()
            return
        with pytest.raises(CheckError) as raised:
            call()
        with pytest.raises(CheckError):
            call()
    finding = raised.value.finding
    assert (finding.kind, finding.expression) == (kind, expression)
    lines = SCHEMA.split("\n")
    assert lines[finding.line - 1][finding.column - 1 :].startswith(expression)
    if name not in ("person.add_up", "day", "join", "leave", "pool"):
        assert (finding.component, finding.row, finding.entity >> 32) == ("Person", 1, 1)
    if name not in ("day", "repeat"):
        assert pickle.dumps(world) == before
    elif name == "day" and package.__name__.endswith("numpy"):
        assert world.person.data.pay.tolist() == [3, 3, 3]  # entries before it have happened


def test_text_of_a_finding(package: Any) -> None:
    world = town(package, home=0)
    world.tick = 12
    head, line, caret, who = str(error_of(package, world, world.visit)).split("\n")
    number = SCHEMA.split("\n").index(line) + 1
    assert head.endswith(f"town.yaml:{number}:46: null: Person.home.Firm.cash")
    assert line[caret.index("^") : len(caret)] == "Person.home.Firm.cash"
    assert who == "in visit, Person 2v1 (row 1), tick 12: Person.home = 0"


def test_going_on(package: Any) -> None:
    """Each place is there once, and the values are those of the generated code."""
    world, twin = town(package, k=0), town(package, k=0)
    world.person.data.small, twin.person.data.small = 255, 255
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with checked(world, schemas(package), stop=False, limit=2) as check:
            for each in (world, twin):
                each.person.age()
                each.person.share()
                each.visit()
    first, second = check.findings
    assert (first.kind, first.count, second.kind, second.count) == ("wrap", 3, "zero", 1)
    assert (first.value, second.operands) == (0, {"pay": 1.0, "k": 0})
    (warning,) = caught
    assert str(warning.message).startswith("4 findings at 2 places")
    assert warning.filename == __file__
    assert pickle.dumps(world) == pickle.dumps(twin)


def test_an_exception_leaves_the_warning(package: Any) -> None:
    world = town(package, k=0)

    def fail() -> None:
        with checked(world, schemas(package), stop=False):
            world.person.share()
            raise ZeroDivisionError

    with (
        pytest.warns(RuntimeWarning, match="1 finding at 1 place, "),
        pytest.raises(ZeroDivisionError),
    ):
        fail()


def test_each_place_counts_what_happened(package: Any) -> None:
    """Messages to one setting are one place; the middle of a chain is worked out once, as an index
    is, and a reduction that others read."""
    world = town(package, k=0)
    run = checked(world, schemas(package), stop=False)
    with warnings.catch_warnings(action="ignore"), run as check:
        world.pool()
        world.person.chain()
        world.person.both()
        world.person.bump()
    counts = [(finding.kernel, finding.kind, finding.count) for finding in check.findings]
    assert counts == [
        ("pool", "wrap", 1),
        ("Person.chain", "zero", 1),
        ("Person.mean_rate", "zero", 1),
        ("Person.bump", "zero", 1),
        ("Person.bump", "wrap", 1),
        ("Person.bump", "index", 1),
    ]


def test_rows_come_before_places(package: Any) -> None:
    """By what orders their turns, too: another row's finding is further to the left."""
    world = town(package, k=0)
    world.person.data.pay[2] = 0
    finding = error_of(package, world, world.person.take_turns).finding
    assert (finding.row, finding.operands) == (1, {"k": 0})


def test_settings_that_schedules_assign(package: Any) -> None:
    world = town(package)
    finding = error_of(package, world, world.night).finding
    assert (finding.kind, finding.kernel, finding.who) == ("wrap", "night", "settings")
    assert finding.step == "settings.fund = u8(400 * Person.mean_rate())"
    assert (world.settings.fund, world.settings.rates[1]) == (0, 1)
    world.person.data.pay = 0.0
    assert ": zero: 1 / 0.0" in str(error_of(package, world, world.night))
    world.destroy_many(world.person.data.entity)
    world.collect()
    with checked(world, schemas(package)):
        world.night()  # mean_rate of nobody is NaN, and a comment allows its conversion
    assert world.settings.fund == 0


def test_only_what_is_asked_for(package: Any) -> None:
    world = town(package, pay=2.0**60)
    with checked(world, schemas(package), find=["nan"]):
        world.person.grow()
    with checked(world, schemas(package), find=["lost"]), pytest.raises(CheckError, match="lost"):
        world.person.grow()
    with pytest.raises(ValueError, match="'bad' is none of null, index"):
        checked(world, schemas(package), find=["bad"]).__enter__()


def test_calls_of_all_kinds(package: Any) -> None:
    """With rows, values for each row, by a bound method, and what is wrong with arguments."""
    world, other = town(package, k=0), town(package, k=0)
    share = world.person.share
    with checked(world, schemas(package)):
        world.person.share(rows=[2, 0])
        world.person.share(rows=[True, False, True])
        with pytest.raises(CheckError):
            share()
        with pytest.raises(CheckError):
            world.person.share(rows=[1])
        with pytest.raises(CheckError):
            world.person.each([1, 2, 0])
        for wrong in ({"x": "a"}, {}, {"x": 1.0, "rows": [7]}):
            messages = []
            for each in (world, other):
                with pytest.raises((TypeError, StaleInstanceError)) as raised:
                    each.person.root(**wrong)
                messages.append(repr(raised.value))
            assert messages[0] == messages[1]
        other.person.share()
    share()
    assert np.isinf(world.person.data.pay[1])


def test_what_breaks_no_tie_is_not_asked(package: Any) -> None:
    world = town(package, k=0)
    world.person.data.pay[2] = 3
    with checked(world, schemas(package)):
        world.person.pick()


def test_a_head_on_several_lines_is_shown_whole(package: Any) -> None:
    world = town(package, k=0)
    finding = error_of(package, world, world.person.fork).finding
    assert finding.step == "if (pay > 0 and pay / k > 3):"


@pytest.mark.parametrize("name", ["share", "mean_rate"])
def test_what_takes_long_says_how_far_it_is(
    package: Any, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recorder, "_PATIENCE", -1.0)
    world = town(package)
    with checked(world, schemas(package)):
        getattr(world.person, name)()
    assert capsys.readouterr().err == f"checked: Person.{name}: row 1 of 3\n"


def test_worlds_of_several_ranks_are_refused() -> None:
    schema = "component: P\nfields: {x: f64}\n---\nworld: W\nshards: {ghosts: {P: [x]}}"
    module = world_package(schema, "checked_ranks")

    def refuse(comm: ThreadComm) -> None:
        world = module.W()
        module.Shards(world, comm)
        for opened in (checked(world), timed(world)):
            with pytest.raises(TypeError, match="shards on 2 ranks"):
                opened.__enter__()

    run(2, refuse)


def test_arguments_are_members_and_handles(package: Any) -> None:
    world = town(package)
    people, spots = world.person.data.entity, world.ground.id_of_many([4, 2])
    with checked(world, schemas(package)):
        world.person.move("cross", ["calm", "cross", 1], people[::-1], spots[1], spots)
        assert world.person.data.mark.tolist() == [False, True, True]
        assert world.person.data.home.tolist() == people[::-1].tolist()
        world.person.move(0, [package.Mood.calm], [0], np.int64(1), (1, 2), rows=[2])
        assert world.person.data.home[2] == 0
        for wrong, message in (({"mood": "mad"}, "'mad'"), ({"spots": [1]}, "spots")):
            fine = {"mood": 1, "moods": 1, "to": 0, "spot": 1, "spots": [1, 2]}
            with pytest.raises(ValueError, match=message):
                world.person.move(**{**fine, **wrong})


def test_draws_and_versions_go_on(package: Any) -> None:
    world, twin = town(package), town(package)
    for each in (world, twin):
        each.person.data.small = 3
    with checked(world, schemas(package)):
        for each in (world, twin):
            each.leave()
            each.bear()
            each.end()
            each.leave()
    assert pickle.dumps(world) == pickle.dumps(twin)


def test_callbacks_and_locks(package: Any) -> None:
    world = town(package, k=0)
    firm = next(iter(world.entities))
    world.entities.on_destroy(lambda entity: world.person.share())
    with checked(world, schemas(package)):
        with world.person.locked(), pytest.raises(Exception, match="locked"):
            world.bear()
        with pytest.raises(BaseExceptionGroup) as raised:
            world.end()
        assert raised.group_contains(CheckError)
        assert not world.entities.alive(firm)


def test_schedules_of_callbacks(package: Any) -> None:
    """Their conditions are looked at, too: no kernel that runs has read it."""
    world = town(package, k=0)
    world.entities.on_destroy(lambda entity: world.repeat())
    with checked(world, schemas(package)), pytest.raises(BaseExceptionGroup) as raised:
        world.end()
    assert raised.group_contains(CheckError, match=r"in Person\.keen")
    assert world.person.data.pay.tolist() == [2, 2, 2]


def test_one_block_and_one_thread(package: Any) -> None:
    world = town(package)
    with checked(world, schemas(package)):
        with pytest.raises(RuntimeError, match="checked or timed already"):
            checked(world, schemas(package)).__enter__()
        errors = list[Exception]()

        def run() -> None:
            try:
                world.person.grow()
            except RuntimeError as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert "in another thread" in str(errors[0])
    with pytest.raises(ZeroDivisionError), checked(world, schemas(package)):
        raise ZeroDivisionError
    world.person.data.k = 0
    world.person.share()


def test_what_is_no_world_of_these_schemas(package: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="wanted a world of a generated package, not int"):
        checked(3).__enter__()  # type: ignore[arg-type]  # to see what it says
    with pytest.raises(FileNotFoundError, match="there are no schemas in"):
        checked(town(package), tmp_path).__enter__()
    (tmp_path / "town.yaml").write_text(SCHEMA + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="was not built from these schemas: run `ecsgen build`"):
        checked(town(package), tmp_path).__enter__()
    wrong = SCHEMA.replace("# allow: zero", "# allow: zeros")
    (tmp_path / "town.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ValueError, match=r"town.yaml:\d+: allow: 'zeros' is none of null"):
        checked(town(package), tmp_path).__enter__()


def test_messages_are_of_who_sent_them(package: Any) -> None:
    world = town(package)
    finding = error_of(package, world, world.join).finding
    assert (finding.row, finding.operands["Person.home.Firm.small"]) == (1, 200)
    assert finding.detail == "200 + 200"
