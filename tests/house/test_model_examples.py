"""Models of examples/models/ do what they are known for; six of them alike on both backends."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import _models
import ants
import boltzmann
import daisyworld
import dilemma
import films
import flocking
import life
import numpy as np
import pytest
import rebellion
import schelling
import sugarscape
import traffic
import virus
import wolf_sheep
from numpy.typing import NDArray

from ecsgen.config import BACKENDS, Backend
from tests.support.forgotten_modules import forget
from tests.support.generated_package import build

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "models"
MODELS = sorted({path.parent.name for path in EXAMPLES.glob("*/*.yaml")})
FEW = {
    **dict.fromkeys(["flocking", "boltzmann"], "--count 9"),
    **dict.fromkeys(["life", "dilemma", "daisyworld", "rebellion"], "--side 9"),
    **dict.fromkeys(["schelling", "sugarscape", "wolf_sheep"], ""),
    "traffic": "--side 30 --count 9",
    "virus": "--count 20",
    "ants": "--side 21 --count 9",
}
SEEDS = (1, 2)
Made = Callable[..., Any]


@pytest.fixture(scope="module")
def build_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Gives the package of a model, for a backend; its folder bears the names of examples'."""
    root = tmp_path_factory.mktemp("models")

    def package(name: str, backend: Backend = "numpy") -> Any:
        folder = root / f"for_{backend}" / f"{name}_model"
        if not folder.exists():
            build(EXAMPLES / name, folder, backend=backend)
        return import_module(f"for_{backend}.{folder.name}")

    sys.path.insert(0, str(root))
    yield package
    sys.path.remove(str(root))
    forget(root)


BLOCK = (0, 7), (0, 0), (1, 7), (1, 0)  # across an edge
BEEHIVE = (2, 3), (2, 4), (3, 2), (3, 5), (4, 3), (4, 4)
BLINKER = (3, 2), (3, 3), (3, 4)
GLIDER = (5, 6), (6, 7), (7, 5), (7, 6), (7, 7)


@pytest.mark.parametrize(
    ("alive", "period", "step"),
    [(BLOCK, 1, 0), (BEEHIVE, 1, 0), (BLINKER, 2, 0), (GLIDER, 4, 1)],
    ids=["block", "beehive", "blinker", "glider"],
)
def test_patterns_of_life_come_again(
    build_package: Made, alive: tuple[tuple[int, int], ...], period: int, step: int
) -> None:
    """After a period, so many steps further along both axes of a torus, and not before."""
    cells = build_package("life").World(cell=(8, 8)).cell
    cells.data.alive.reshape(8, 8)[tuple(np.transpose(alive))] = True
    for _ in range(3):
        land = []
        for _ in range(period):
            land.append(cells.data.alive.reshape(8, 8).copy())
            cells.live()
        assert len({each.tobytes() for each in land}) == period
        expected = np.roll(land[0], (step, step), (0, 1))
        assert (cells.data.alive.reshape(8, 8) == expected).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_flock_finds_its_way(build_package: Made, seed: int) -> None:
    world = flocking.flock(build_package("flocking"), 50, 40.0, seed)
    first = flocking.order(world)
    for _ in range(60):
        world.boid.fly(5.0, 1.0, 40.0)
    assert flocking.order(world) > first + 0.25
    assert np.allclose(np.linalg.norm(world.boid.data.heading, axis=1), 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_keep_apart(build_package: Made, seed: int) -> None:
    world = schelling.town(build_package("schelling"), 20, 250, seed)
    first = schelling.alike(world)
    for _ in range(10):
        world.household.settle(1, 3)
    assert 0.4 < first < 0.6 < 0.75 < schelling.alike(world)
    assert world.household.content() > 225
    assert len(set(world.household.data.lot.tolist())) == 250


@pytest.mark.parametrize("seed", SEEDS)
def test_wealth_becomes_exponential(build_package: Made, seed: int) -> None:
    """An exponential distribution has a Gini coefficient of 1/2, and the poorer half of all has
    (1 - ln 2) / 2 of what there is."""
    world = boltzmann.market(build_package("boltzmann"), 200, seed)
    world.person.data.coins = 10
    for _ in range(300):
        world.person.give()
    coins = np.sort(world.person.data.coins)
    assert coins.sum() == 2000
    assert coins[0] == 0
    assert boltzmann.gini(world) == pytest.approx(0.5, abs=0.08)
    assert coins[:100].sum() / 2000 == pytest.approx((1 - np.log(2)) / 2, abs=0.05)


def test_as_many_ants_live_as_the_land_carries(build_package: Made) -> None:
    """Some starve, those who need much or see little; the others live on for good."""
    world = sugarscape.settled(build_package("sugarscape"), 30, 150, 1)
    needed, numbers = world.ant.data.need.mean(), []
    for _ in range(40):
        world.step()
        numbers.append(len(world.ant))
    assert numbers == sorted(numbers, reverse=True)
    assert 75 < numbers[-10] == numbers[-1] < 100
    assert world.ant.data.need.mean() < needed - 0.5
    assert len(set(world.ant.data.cell.tolist())) == numbers[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_wolves_follow_the_sheep(build_package: Made, seed: int) -> None:
    """Both live on, and there are many wolves some days after there were many sheep, not before."""
    history = []
    world = wolf_sheep.meadow(build_package("wolf_sheep"), 25, 60, 40, 20, seed)
    for _ in range(150):
        wolf_sheep.day(world, 20, 0.2, 0.1)
        history.append((len(world.sheep), len(world.wolf)))
    sheep, wolves = np.array(history)[20:].T
    assert min(sheep.min(), wolves.min()) > 5
    assert min(sheep.max() / sheep.min(), wolves.max() / wolves.min()) > 1.5
    after, before = related(wolves[15:], sheep[:-15]), related(wolves[:-15], sheep[15:])
    assert after > before + 0.3


@pytest.mark.parametrize("count", [6, 15, 30, 45])
def test_the_most_cars_pass_at_one_density(build_package: Made, count: int) -> None:
    """Where nobody dawdles all drive freely up to a density of 1 / (fastest + 1), and behind that
    as fast as holes travel: the flow is exactly the smaller one of the two."""
    world = traffic.ring(build_package("traffic"), 60, count, 1)
    for _ in range(120):
        world.car.drive(3, 0.0)
    assert traffic.flow(world) == pytest.approx(min(3 * count / 60, 1 - count / 60))
    assert len(set(world.car.data.cell.tolist())) == count


def test_dawdling_makes_jams(build_package: Made) -> None:
    """At a speed of at most 1 the flow is known: (1 - sqrt(1 - 4 * (1 - p) * d * (1 - d))) / 2."""
    world = traffic.ring(build_package("traffic"), 100, 50, 1)
    flows = []
    for _ in range(400):
        world.car.drive(1, 0.5)
        flows.append(traffic.flow(world))
    assert np.mean(flows[100:]) == pytest.approx((1 - np.sqrt(0.5)) / 2, abs=0.015)


def test_a_virus_goes_on_within_a_step(build_package: Made) -> None:
    """Along a chain it comes as far as turns happen to follow each other: k links with a chance of
    1 / k!, so e - 1 on the average. At once it would be one."""
    chains, length = 400, 10
    starts = length * np.arange(chains)
    ends = np.add.outer(starts, np.arange(length - 1)).ravel()
    pairs = np.stack([ends, ends + 1], axis=1)
    world = virus.network(build_package("virus"), chains * length, pairs, starts, 1)
    world.spread(1.0, 0.0, 0.0, 0.0)
    assert world.node.ill() / chains - 1 == pytest.approx(np.e - 1, abs=0.2)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_virus_needs_enough_who_catch_it(build_package: Made, seed: int) -> None:
    """With 6 links each, ill for 10 steps on the average: below 1 / 60 it dies out at once."""
    ended = []
    for catch in (0.004, 0.08):
        pairs = virus.anybody(150, 6, seed)
        world = virus.network(build_package("virus"), 150, pairs, np.arange(5), seed)
        while world.node.ill():
            world.spread(catch, 0.2, 0.5, 1.0)
        ended.append(world.node.immune())
    assert ended[0] < 20
    assert ended[1] > 100


def test_one_traitor_begins_a_kaleidoscope(build_package: Made) -> None:
    world = dilemma.players(build_package("dilemma"), 25, 1.9, 1)
    shares = []
    for _ in range(10):
        dilemma.at_once(world, 1.9)
        cooperate = world.player.data.cooperates.reshape(25, 25)
        assert (cooperate == cooperate[::-1]).all()
        assert (cooperate == cooperate.T).all()
        shares.append(int(cooperate.sum()))
    assert shares[:3] == [616, 600, 584]
    assert shares[-1] < 560


@pytest.mark.parametrize("seed", SEEDS)
def test_who_cooperates_lasts_at_once_alone(build_package: Made, seed: int) -> None:
    """Nowak and May: for prizes between 1.8 and 2 about 0.318 of all cooperate at last. Huberman
    and Glance: if they decide one after the other, nobody does."""
    ended = []
    for step in (dilemma.at_once, lambda world, prize: world.player.take_turns(prize)):
        world = dilemma.players(build_package("dilemma"), 24, 1.85, seed)
        world.player.data.cooperates = np.random.default_rng(seed).random(576) < 0.9
        world.player.play(1.85)
        shares = []
        for _ in range(60):
            step(world, 1.85)
            shares.append(world.player.cooperating() / 576)
        ended.append(np.mean(shares[30:]))
    assert ended[0] == pytest.approx(0.318, abs=0.06)
    assert ended[1] < 0.05


def test_trails_lead_ants_to_food(build_package: Made) -> None:
    """With trails much more is brought home in the same time than by those who find food alone."""
    brought = []
    for mark in (60.0, 0.0):
        world = ants.colony(build_package("ants"), 41, 60, 1)
        food = world.patch.stored()
        for _ in range(150):
            ants.forage(world, mark)
        brought.append(food - world.patch.stored())
        assert world.ant.data.at.min() > -0.5
        assert world.ant.data.at.max() < 40.5
    assert brought[0] > 1.1 * brought[1] > 50


def test_daisies_keep_the_ground_as_they_like_it(build_package: Made) -> None:
    """Bare ground would warm from 17 to 62 degrees; with daisies it even cools as the sun grows."""
    ended = []
    for sun in (0.7, 1.0, 1.3):
        world = daisyworld.planet(build_package("daisyworld"), 10, 1)
        warmth = [daisyworld.year(world, sun) for _ in range(80)]
        ended.append(np.mean(warmth[40:]))
        assert 60 < len(set(world.daisy.data.cell.tolist())) == len(world.daisy)
    assert 40 > ended[0] > ended[1] > ended[2] > 5
    assert daisyworld.without(1.3) - daisyworld.without(0.7) > 44
    assert ended[1] == pytest.approx(22.5, abs=5)


def test_rebellions_break_out_after_long_quiet(build_package: Made) -> None:
    """Punctuated equilibrium: few rebel most of the time, and now and then a fifth of all."""
    world = rebellion.city(build_package("rebellion"), 20, 2)
    rebels, jailed = [], []
    for _ in range(75):
        world.act(7, 0.82, 30)
        rebels.append(world.person.rebelling())
        jailed.append(world.person.jailed())
    loud = np.array(rebels) > 30
    assert np.median(rebels) <= 4
    assert max(rebels) > 50
    assert np.count_nonzero(loud[1:] & ~loud[:-1]) >= 2
    assert max(jailed) > 90 > 40 > min(jailed[20:])
    assert not world.person.data.rebels[world.person.data.police].any()


def related(values: NDArray[np.int64], others: NDArray[np.int64]) -> float:
    return float(np.corrcoef(values, others)[0, 1])


def columns(world: Any) -> dict[str, NDArray[Any]]:
    """All fields of all rows."""
    return {
        f"{name}.{field.name}": getattr(getattr(world, name).data, field.name).copy()
        for name in world.MANAGERS
        for field in getattr(world, name).FIELDS
    }


@pytest.mark.parametrize("name", list(films.MODELS)[:6])
def test_the_same_bits_on_both_backends(build_package: Made, name: str) -> None:
    pytest.importorskip("numba")
    (ours, step, _), (theirs, other, _) = (
        films.MODELS[name](build_package(name, backend)) for backend in BACKENDS
    )
    first = columns(ours)
    for _ in range(5):
        step(), other()
        columns_found, expected = columns(ours), columns(theirs)
        assert all(np.array_equal(columns_found[key], expected[key]) for key in columns_found)
    assert any(not np.array_equal(first[key], columns_found[key]) for key in first)


@pytest.mark.parametrize("name", MODELS)
def test_scripts_tell_and_draw(
    name: str,
    build_package: Made,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    build_folder = Path(build_package(name).__file__).parents[1]
    monkeypatch.setattr(_models, "BUILD", build_folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    picture, size = tmp_path / "picture.svg", "--days" if name == "wolf_sheep" else "--steps"
    import_module(name).main([size, "10", "--svg", str(picture), *FEW[name].split()])
    numbers = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert numbers[0] == 0
    assert numbers[-1] == 10
    assert len(ET.parse(picture).getroot()) > 1
    sys.modules.pop(f"{name}_model")


def test_without_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_models, "BUILD", tmp_path)
    with pytest.raises(SystemExit, match="ecsgen build examples/models/life --output"):
        life.main([])


def test_the_page_shows_them_as_they_are() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    files = *EXAMPLES.glob("*.py"), *EXAMPLES.glob("*/*.yaml")
    texts = [path.read_text(encoding="utf-8") for path in files]
    shown = re.findall(r"^```(?:yaml|py)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(shown) > 8
    for block in shown:
        assert any(block in text for text in texts), block
    for number, path in re.findall(r"\[(\d+)\]\(\.\./([\w./]+)\)", page):
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        code_lines = [line for line in lines if line.strip() and line.strip()[0] != "#"]
        assert len(code_lines) == int(number), path


@pytest.mark.parametrize("name", MODELS)
def test_films(name: str, build_package: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model has a film, as `make films` writes it."""
    monkeypatch.setattr(films, "package", build_package)
    film = films.film(name, steps=4)
    assert len(film) == 4 // films.EVERY.get(name, 2) + 1


@pytest.mark.parametrize("name", ["fire", "epidemic"])
def test_watched(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The programs of `make view` run, and spread what they are about."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    watched = import_module("_watched")
    monkeypatch.setattr(watched, "BUILD", tmp_path)
    with pytest.raises(SystemExit, match=f"ecsgen build examples/watch_{name} --output"):
        watched.package(name)
    build(ROOT / "examples" / f"watch_{name}", tmp_path / f"{name}_world")
    program = import_module(f"watch_{name}")
    files = ["--film", str(tmp_path / "run.html"), "--picture", str(tmp_path / "last.png")]
    watched.watch(program.__doc__, program.make, program.VIEW, [*files, "--steps", "20"])
    assert (tmp_path / "last.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    facts = json.loads(page.split('id="film-facts">')[1].split("</script>")[0])
    line = facts["lines"]["wood.fires" if name == "fire" else "person.ill"]
    assert max(line) > line[0]
