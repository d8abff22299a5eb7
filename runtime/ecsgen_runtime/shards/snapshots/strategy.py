"""How a world that is one of several is saved and loaded: with its number and its visitors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ...snapshots.checks.entities import KnownEntities
from ...snapshots.checks.rows import CheckedRows
from ...snapshots.codecs import Codecs
from ...snapshots.evolution.handles import Handles
from ...snapshots.evolution.ids import Columns, NewIds, Numbers
from ...snapshots.evolution.old import OldComponent
from ...snapshots.evolution.rows import RowPlan
from ...snapshots.loading import Loading
from ...snapshots.saved import Document, Saved
from ...snapshots.strategy import Saving
from ...snapshots.writing import Part
from .checks import (
    KnownVisitors,
    check_shard_direct_ids,
    check_shard_schema,
    check_shard_slots,
    check_shard_state,
    check_shard_tensors,
)
from .contents import shard_parts, shard_state
from .evolution import ShardedHandles, shard_id_columns
from .loading import ShardedLoading


class ShardedSaving(Saving):
    """How a shard is saved and loaded."""

    KNOWN_ENTITIES: ClassVar[type[KnownEntities]] = KnownVisitors
    HANDLES: ClassVar[type[Handles]] = ShardedHandles
    LOADING: ClassVar[type[Loading]] = ShardedLoading

    def parts_of(self, world: Any, codecs: Codecs) -> Iterator[Part]:
        return shard_parts(world, codecs)

    def state_of(self, world: Any, attributes: Document) -> Document:
        return shard_state(world, attributes)

    def check_schema(self, schema: Any, file: str) -> None:
        check_shard_schema(schema, file)

    def check_state(self, saved: Saved) -> None:
        check_shard_state(saved)

    def check_tensors(self, saved: Saved) -> None:
        check_shard_tensors(saved)

    def check_slots(self, rows: CheckedRows) -> None:
        check_shard_slots(rows)

    def check_direct_ids(self, rows: CheckedRows) -> None:
        check_shard_direct_ids(rows)

    def id_columns(
        self, old: OldComponent, doc: Document, plan: RowPlan
    ) -> tuple[Columns, Numbers, NewIds | None]:
        return shard_id_columns(old, doc, plan)
