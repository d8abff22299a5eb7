"""The classes and constants that generated modules name, by where these are from.

Made by `python -m ecsgen.render.reserved`; a test says when it has to be made again.
"""

from __future__ import annotations

from typing import Final

CLASS_NAMES: Final = {
    "what the package exports": """
        ArchetypeChunk Archetypes BrokenManagerError CapacityError Draws DuplicateInstanceError
        DuplicateValueError EcsError Entity EntityArray EntityManager EntityView FieldInfo
        HierarchyError Id Instance MissingInstanceError NIL NULL_ENTITY Neighbours RowArray
        Signature Snapshot SnapshotError SnapshotTable StaleEntityError StaleIdError
        StaleInstanceError StaleViewWarning StructureLockedError World
    """,
    "what its modules import": """
        Any ArrayLike Callable ClassVar Final IntEnum IntFlag Iterable Iterator Literal Mapping
        ModuleType NDArray NamedTuple Never Protocol Random Sequence Struct TypeAlias TypeVar
        TypedDict Unpack
    """,
    "what their runtime defines": """
        BLOCK Blocks BoolField BytesField Cells Chance ChosenCells ChosenRows ChunkCells ColdRows
        Column Columns EnumField FieldTable FloatField FrontColumns GENERATION_BITS GivenTable
        HANDLE_MASK HandleField HeldMessages INDEX_BITS INDEX_COUNT INDEX_MASK IdArray IntField
        LAST_GENERATION LevelBlocks LevelField MIN_FREE Manager Messages NearBlocks NearColumn
        NearSearch ONE_GENERATION ObjectField OtherColumn ParentField Planned Rows SLOT_BITS
        SpaceLayout TABLE_FACTOR TextField WORN_OUT
    """,
    "what their runtime defines for archetypes": """
        ArchetypeStore ArchetypeWorld ChunkBase ChunkBlocks ChunkColumns ChunkField RowCount
    """,
    "what their runtime defines for one row or entity at a time": """
        ArrayField ChunkArray ChunkProxy ChunkValue ColdArray EntityProxy IdProxy ProxyField
        RowField
    """,
    "what their runtime defines for worlds, groups, signatures and queries": """
        ChunkedPart ComponentFlags EntityViewBase EntityWorld Group GroupMember JoinedBlocks
        JoinedColumn ManagedPart QueriedChunks QueriedRows QueryColumn QueryColumns QueryListMember
        QueryMatch QueryMember QuerySparseMember SeededWorld SignedWorld UniqueQueryColumn
        WideSignedWorld
    """,
}
