"""Tests of `make soak` alone, which search further than `make test`, and how long others try.

Tests that guard a promise are in `make test`; of each file that is named here, benchmarks aside, it
keeps enough to notice whatever breaks more than a rare case.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

COMPILED: Final = bool(os.environ.get("ECSGEN_COMPILED"))
"""True if numba compiles the loops of all packages. `make test` leaves those of most to Python, for
to compile them took half of its time; `make soak` runs their tests again, compiled."""
REPEATED = (
    "(AiState|CelestialBody|Chilled|Contact|Energy|Guest|Hawk|Left|Particle|PointMass|Position"
    "|Person|Rare|Static|StatusEffect|Tale|Tile|Transform|Velocity|Villager|Visit)"
)
"""Those of `policies_package` without which every policy is there, and every pair of them."""
PAIRED = (
    "(Anchor|Boid|Echo|Footprint|Kin|Limb|Meeting|Mooring|Mote|Plain|Predator|Raft|SceneNode"
    "|Seedling|Shoot|SoundSource|Spark|Spore|Third)"
)
"""Those of the others without which every policy is there, but not every pair of them."""
SOAK = {
    "test_aliases.py": f"views_are.*{REPEATED}Manager",
    "test_as_interpreted.py": (
        "kernels.*numba-(?!(at_once|births|bits|chosen_rows|draws|moving|names|neighbours|networks"
        "|passing|questions|sent_settings|statements|vectors)-)|schedules.numba"
    ),
    "test_at_once.py": r"fail_happen.*-[1-9]\d?\]",
    "test_benchmarks.py": "",
    "test_bits.py": "numba.*looped|looped.*numba",
    "test_black.py": r"random_m.*[1-4]-|with_shards|shipped|alone\[(?!tests.test_w)[cf-z]",
    "test_both_ways.py": (
        "more_policies|compiled|only.shipped-i|differs.*(shipped|numba)|library.(shipped|.*numba)"
    ),
    "test_breaking.py": r"versions_can.*\[(1[5-9]|[23]\d)\]",
    "test_changes.py": rf"naive_model.{REPEATED}\]",
    "test_checked.py": "finding.numba",
    "test_chunk_kernels.py": "compiled",
    "test_cli.py": r"any_encoding.*[1-3]\]|hashes_of_strings",
    "test_cli_build.py": "that_are_interrupted|watchfiles",
    "test_cli_warm.py": "second_time",
    "test_combinations.py": r"every_combination.*\[[1-9]",
    "test_despawned_rows.py": (
        "numba-(hunt (?!lookup: sparse)|wood (at_once|random)|hens.*(hash|many))"
    ),
    "test_docs.py": r"walk\[(a-model|columns|sweeps)|pass_mypy",
    "test_dying_objects.py": r"an_object_does.*3\]",
    "test_examples.py": "vendored|ecosystem.installed",
    "test_fairness.py": "numba",
    "test_fast_changes.py": r"worlds_are_the_same\[([2-9]|1\d|\w+-[2-7])\]",
    "test_fast_generated.py": r"other_policies|random_schemas|rules_of_worlds|\[\[[aft]",
    "test_fast_outcomes.py": r"leaks\[[PST]",
    "test_faults.py": (
        f"managers_are.*{REPEATED}M|interrupted_(m.*{PAIRED}M|o)|answers_w|map.*_many"
    ),
    "test_feature_hierarchy.py": r"Root\d-False|Destroy\d-True-1|True-64",
    "test_first_calls.py": "dropped|changes",
    "test_generated.py": "(compiled|vendored)_packages|broken_managers|small.*ven",
    "test_grids_generated.py": "numba",
    "test_groups.py": r"any_policies\[\w+-[34]",
    "test_half_done_commands.py": "(mixed|plain)-64|numba.*mixed|interrupts.*(mixed|numba)",
    "test_hostile_files.py": r"full_standard.*([12]-1?|0-1|3-)\]",
    "test_how_do_i_say.py": "numba",
    "test_imports.py": "no_tools_of_tests",
    "test_init.py": "test_what_it_writes_works",
    "test_inspector_labels.py": "last_second",
    "test_inspector_map.py": "without_points",
    "test_inspector_page.py": (
        "and_layer.axes|scale|click_on|csv|of_a_million|layers|not_answer|graphics_card|last_refused|pause"
        "|points_before_cells|hexagons|page.False|sizes_and|few_points|click_anywhere|records_and"
    ),
    "test_judge.py": r"turns\[[1-9]|nearly_0.*5e19.*numba",
    "test_kernels_edges.py": "every|numba",
    "test_kernels_exact.py": r"random_compiled_kernels|trees\[\d+-[235]\]",
    "test_kernels_valid.py": "test_valid_kernels_(run|.*numba)",
    "test_matrix.py": "numba",
    "test_model_examples.py": r"both_backends.(?!boltz)|\[2\]|rebellions",
    "test_mutate.py": "no_mutant_at_all|every_mutant",
    "test_names.py": "real_names|types_of",
    "test_names_of_locals.py": "columns_and_functions.numba",
    "test_near_others.py": r"numba|worlds\[1",
    "test_neighbours.py": r"any_order\[1",
    "test_network_kernels.py": "ask_alone.numba",
    "test_networks.py": "search_through_all.*(numba|-[12])",
    "test_older_packages.py": "another_surface",
    "test_on_all_cores.py": "of_one_core.[014]|on_all_cores|environment_keeps",
    "test_on_delete.py": r"naive_model.*-[1-3]\]",
    "test_one_wrong_value.py": r"crash\[\d-[12]",
    "test_passing_rows.py": r"judge_has_them\[1",
    "test_quick_neighbours.py": "same_bits.hex",
    "test_random_grids.py": (
        r"wrong.*numba|kernels\[[^0]|lives\[[45]|compiled_[^c]|ask_cells\[[1-5]"
    ),
    "test_random_lives.py": r"lives\[(numba-[5-9]|numpy-[1-4])\]",
    "test_random_others.py": r"see_others\[[12]",
    "test_records.py": r"difference\[40001|mypy",
    "test_record_files.py": r"interrupt_loses.*\[[1-9]|killed.*parquet",
    "test_reductions.py": "numba.*(Holey|Rested|Whole)|edges.*numba",
    "test_references.py": "test_kernels.numba",
    "test_schedules.py": "numba-(step_[1-9]|any)",
    "test_shards_mpi.py": r"flock_of_kernels|restart|any_number.*\[[24]",
    "test_shards_neighbours.py": "(any_number_of_ranks|inactive).*numba",
    "test_snapshot_policies.py": r"other_one\[(?!sparse-)(?!.*-sparse\])",
    "test_snapshot_random.py": r"broken.*\[[^0]",
    "test_source.py": r"quickly\[text8-.*True",
    "test_sweep_executors.py": "dask",
    "test_sweep_journal.py": r"middle\[[^05]|workers_end",
    "test_sweep_processes.py": "thousands|1000000",
    "test_turn_cells.py": r"moves\[wrap([1-9]-(True|False-True)|[1234678]-)",
    "test_turns.py": "test_kernels.numba",
    "test_wheel.py": "",
    "test_without_compiling.py": "numba_d",
    "test_world_kernels.py": "both_backends",
}
"""By file: the names of tests in which this is found."""
DEAREST = (
    *("test_faults.py", "test_docs.py", "test_model_examples.py", "test_cli.py"),
    *("test_kernels_edges.py", "test_both_ways.py", "test_cli_build.py", "test_examples.py"),
    *("test_judge.py", "test_inspector_page.py", "test_fast_outcomes.py"),
    *("test_shards_mpi.py", "test_imports.py", "test_kernels_exact.py", "test_near_others.py"),
    *("test_random_grids.py", "test_references.py", "test_snapshot_policies.py"),
    *("test_added_components.py", "test_matrix.py", "test_generated.py", "test_black.py"),
    *("test_older_packages.py", "test_first_calls.py", "test_grids_generated.py"),
    *("test_cli_warm.py", "test_checked.py", "test_turn_cells.py", "test_sweep_processes.py"),
    *("test_on_all_cores.py", "test_random_lives.py"),
)
"""The files that take longest in `make test`."""


def mark(item: pytest.Item) -> None:
    """Mark a test that `make soak` alone runs, or runs compiled."""
    pattern = SOAK.get(item.path.name)
    searches = pattern is not None and re.search(pattern, item.name)
    is_compiled = COMPILED and "numpy" not in item.name and _has_loops(item.path)
    if searches or is_compiled:
        item.add_marker(pytest.mark.soak)


@cache
def _has_loops(file: Path) -> bool:
    """Return True if tests of a file may have packages with loops that numba compiles."""
    text = file.read_text(encoding="utf-8")
    return "numba" in text or "BACKENDS" in text


def examples(number: int) -> int:
    """Return how many examples to try: so many of a hundred of the profile's."""
    return max(2, number * settings().max_examples // 100)
