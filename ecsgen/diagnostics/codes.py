"""The list of diagnostics: code → what it says in one line, and at length.

E1 names and fields, E2 reading files, E3 the shape of a document, E4 keys that contradict each
other, E5 checks across components and files, E6 generating, E7 generated files, E8 what kernels
say, E9 what a change of schemas breaks. H are hints: they stop nothing.
`docs/diagnostics.md` is made from this list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Code(NamedTuple):
    """One kind of diagnostic."""

    title: str
    explanation: str


_LIST: Final = r"""
# names and fields
E101 not a valid name
    Components, enums and worlds are CamelCase, everything else is a plain identifier that does not
    begin with an underscore. Names are ASCII, because Python folds look-alike letters into one, and
    at most 64 characters long.
E102 reserved name
    It is a public name of generated packages, or a Python keyword. The lists are in the schema
    reference; they do not depend on policies, so switching a policy on never breaks a name.
E103 two things of one name
    Two names mean the same attribute, class or module. Names that differ only in upper and lower
    case count as one, since modules are files and some file systems do not tell them apart.
E104 unknown field type
    Type names are exact: `bool`, `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, `entity`,
    `id<Component>`, `str[N]`, `bytes[N]`, `object`, or the name of an enum of this project.
E105 malformed shape or size
    A shape is one to eight numbers from 1, as in `f32[3]` or `f32[4,4]`, at most 4096 elements in
    all. `str[N]` and `bytes[N]` need a size of 1 to 65536 and take no shape; neither does `object`.
E106 default of the wrong kind
    Values are never silently changed: an integer field takes no float, a number field no boolean, a
    `bool` nothing but `true` and `false`. The default of an `object`, `entity` or `id` is always
    empty.
E107 default does not fit
    The number is out of the type's range, a finite number would become infinite, or the text is
    longer than the field.
E108 default of the wrong shape
    A default is either one value, which fills the whole shape, or nested lists of exactly the
    field's shape.
E109 nothing to split
    `split: true` stores each element of a shaped field in a column of its own, so the field needs a
    shape.
E110 bad tag
    Tags are lower-case words, each given once. A field is hot or cold, not both.
E111 bad enum
    An enum needs at least one member. Values are whole numbers from 0 to 2^64 - 1, each used once.
    Each member of a set of flags is a bit of its own, zero, or made of other members' bits.
E112 bad expression
    A step is one assignment (`=`, `+=`, `-=`, `*=`, `/=`); conditions and reductions are one
    expression. Both are written in a subset of Python's syntax, without `;`. `if alive: x = 1` is
    none of these: write `x = 1 if alive else x`, or `where: alive` beside the steps.
E113 cannot be unique
    `unique: true` is for fields of one value that can be looked up: numbers, bools, enums,
    `entity`, ids, `str` and `bytes`. It is not for shapes, for `object`, or for fields in the
    second, cold buffer, in which not every row has a place.

# reading files
E201 cannot be read
    The schema folder or a file in it is missing or unreadable.
E202 file too large
    A schema file is at most 4 MiB.
E203 not UTF-8
    Schema files are UTF-8.
E204 character not allowed
    Control characters, half surrogate pairs, byte order marks inside the text, and line separators
    that YAML 1.2 does not know.
E205 not valid YAML
    The rest of the file after this place is not read.
E206 nested too deep
    A schema is at most 32 levels deep.
E207 too many values
    A schema file has at most 100,000 keys and values.
E208 anchor or alias
    Anchors and aliases are not part of the schema language: a small file could stand for a huge
    one.
E209 merge key
    Merge keys (`<<`) are not part of the schema language.
E210 tag
    YAML tags (`!word`) are not part of the schema language.
E211 duplicate key
    A key stands once in a mapping.
E212 bad key
    Keys are text, not empty and no collections.
E213 number too large
    The number is larger than anything that a field can hold.
E214 directive
    `%YAML 1.2` is the only directive of the schema language.
E215 tab
    Tabs may stand only inside quotes, text blocks and comments; YAML readers disagree about the
    others.

# the shape of a document
E301 not a schema
    Each document is a mapping with exactly one kind key: `component`, `enum` or `world`.
E302 unknown key
    The key is not part of the schema language at this place.
E303 missing key
    The key must be there.
E304 value of the wrong kind
    Text, number, list or mapping: another was expected.
E305 not one of the choices
    The key takes one of a few words.
E306 number out of range
    The number is too small or too large for the key.
E307 empty or too long
    The list, mapping or text is shorter or longer than allowed.

# keys that contradict each other
E401 keys that contradict each other
    Two policies that make no sense together. `lookup: direct` goes with `instances: one` and with
    nothing that orders rows; `owner: none` has no entity to look up, to count instances of, or to
    die; `destroy: callback` always releases; what bounds instances is at least the initial
    capacity, and a reservation at least all of that. Nothing bounds how many there are with
    `lookup: direct`, where memory goes by the indices of entities.
E402 a key that has nothing to work on
    `cold: indirect` needs fields tagged cold, `rows` needs a partition, a component without an
    owner needs fields, a kernel assigns to one.
E403 bad layout of entity handles
    Index and generation share 64 bits; an index has at most 32. With `shards`, the shard where an
    entity was made has some of them, too.

# across components and files
E501 unknown component
    No schema of this project defines the component.
E502 component has no ids
    `id<Component>` needs a component with `ids: true` or `owner: none`.
E503 second world
    A project has at most one `world` document.
E504 bundle within itself
    Bundles may build on each other, but not in a circle.
E505 component cannot be in the group
    A member of a group has `owner: entity`, `instances: one`, no partition, and is not `lookup:
    direct`. A component is in one group at most.
E506 component cannot be in the archetypes
    Archetype components live in chunks, not in managers: policies, kernels and groups of managers
    do not apply to them.
E507 component cannot be used here
    Bundles, queries, groups and archetypes are about the components of entities, so they take none
    with `owner: none`.
E508 unknown group, query or component
    A world kernel runs over a group, a query or a component with a manager.
E509 named twice
    The same name stands twice where once is enough.
E510 query without components
    A query needs at least one component in `all` or `any` to look for.
E511 row larger than a chunk
    An entity may have all components of the archetypes, and a row lies in one chunk, each column on
    a cache line of its own.
E512 query of managers and archetypes
    A query finds rows of managers or chunks of archetypes: either all of its components live in
    archetypes, or none does.
E513 removed name in use, or bad space
    A name in `removed` stays taken: what was saved under it would become part of something new.
    Give the new one another name; or if it is the old one after all, take the name off the list. A
    `space` names a field of the component that is f32 or f64, of shape [2] or [3], and that all
    rows have; `wrap` has a finite number from 0 for each axis.
E514 former name of something else, or bad schedule
    A name in `renamed_from` is one that nothing has any more and that nothing else had: it is not
    in use, not in `removed`, and stands in one list only. Otherwise nobody could tell whose the
    saved values are. An entry of a `schedule` is a kernel, `Body.steer` or the world's own `drift`,
    and arguments of one name are of one type in all of them: call the one `dt: f32` and the other
    `ticks: i32`, for a schedule has one parameter for each name.
E515 component or field cannot be among the ghosts
    Ghosts are rows of other shards behind the own ones: of components of entities with one instance
    at most, in a manager, and of fields that lie in its buffer: no `str`, no `object`, none of a
    second, cold buffer.
E516 object that cannot leave its process
    Entities of a world with `shards` go to other processes, and Python objects can't unless they
    are pickled. Either rows of the component stay (`stay`), or objects travel as pickles (`objects:
    pickle`), so that absorbing a parcel runs what is in it.
E517 neighbours on other shards of whom too little is known
    Kernels with `near` ask ghosts as well if the field of the space is among the `ghosts`; what
    they read of neighbours must be among these, too, and the components that a group or query asks
    for, if only with an empty list of fields: an entity that is sent as a ghost has all of them.
    With `any` or `none` in a query, nobody could tell.

# generated files
E701 out of step
    `ecsgen check` found a generated file that is CHANGED, MISSING or EXTRA: not what the schemas
    make now. `ecsgen build` mends it.
E702 edited by hand
    The file was written by ecsgen and changed by somebody since. It is not overwritten or deleted
    without `--force`; put lasting changes into the schemas, or beside the package.
E703 in the way
    Something that ecsgen did not write stands where a generated file goes. Move it away, or let
    `--force` overwrite it; folders, and files behind links, are never touched.

# kernels
E801 not in the language of kernels
    Steps, conditions and reductions are written in a small part of Python: numbers, names,
    arithmetic, comparisons, `and`, `or`, `not`, `a if c else b`, element access and a fixed set of
    functions under bare names. So not `np.where(c, a, b)` but `a if c else b`, not `(a > 0) & (b >
    0)` but `a > 0 and b > 0`, not `math.sqrt(x)` but `sqrt(x)`.
E802 unknown name in a kernel
    A name is a field, an argument, a local name that a step before has set, a function, or written
    with a dot: `parent.field`, `Enum.member`, in kernels of the world `Component.field`. `steps:
    [speed += gravity * dt]` needs `args: {gravity: f32, dt: f32}` if these are no fields.
E803 value of the wrong type in a kernel
    Arithmetic takes numbers, `and`, `or`, `not` and conditions take bools, enums and handles are
    compared and assigned only. A float becomes an integer only by a cast such as `i32(x)`: for `hp:
    u8`, not `hp = 0.5 * mass` but `hp = u8(0.5 * mass)`. A condition counts as `1 if c else 0`, and
    a number becomes a condition by `x != 0`. Text, bytes and objects have no place in kernels.
E804 shapes that do not match
    Operands of an operation have the same shape, or no shape. Nothing else is broadcast: for
    `place: f32[3]` and `wind: f32[2]`, not `place += wind` but `place.x += wind.x` and so on, or
    give both the same shape.
E805 cannot be assigned by a kernel
    A kernel assigns to fields of its own rows, their elements and local names: not to arguments, to
    the parent's row, to fields in the second, cold buffer, to unique fields, or to what the manager
    keeps (owner, links, ids). Copy an argument to a local name to go on with it, as in `left = dt`;
    what concerns the parent is done in its own row.
E806 bad use of a local name
    A local name is set by `name = …` before it is read, is read somewhere, and keeps its type. If
    it was meant to be a field, it is misspelt or missing; after `part = 1`, which is an i64, not
    `part = 0.5` but another name, or `part = 1.0` at first.
E807 bad index
    Indices are written out, from 0, as many as the shape has dimensions or fewer: of `table:
    f32[2,3]` there are `table[1]` and `table[1, 2]`, not `table[i]` or `table[-1]`.
E808 wrong number of arguments
    The functions are listed in the docs on kernels, with what they take: `clip(x, 0, 1)`, `atan2(y,
    x)`, `min(a, b, c)`.
E809 literal that does not fit
    A number takes the type of what it meets, so it must be a value of that type. For `hp: u8`, not
    `hp + 300` but `i32(hp) + 300`; not `-1 * hp` but `-hp`, which wraps.
E810 reference that leads nowhere
    `entity.Component.field` is a field of the row that an entity has in a component, `id.field` of
    the row with an id. A component's kernel refers to rows of its own component; what leads to
    others is a kernel of the world. Nothing leads to components in archetypes; kernels over chunks,
    kernels that read `parent` and reductions refer to nothing.
E811 not a message
    Several rows may refer to the same one, so a kernel cannot simply assign to another row. It
    sends messages, which arrive after the last row: `R += e`, `R -= e`, `R = min(R, e)`, `R =
    max(R, e)`, `R = R or e`, `R = R and e`, each field in one of these ways.
E812 no random number here
    Random numbers belong to a row, which is told from others by its entity, with `instances: many`
    or `owner: none` by its id, or by a `u64` field that the kernel names as its `key`. So give the
    component `ids: true`, or the kernel `key: name`. Reductions draw none, and neighbours are asked
    for none: let a kernel draw into a field first.
E813 misuse of neighbours
    A kernel with `near` asks its neighbours: `count()`, `sum(e)`, `mean(e)`, `min(e)`, `max(e)`,
    `nearest(e)`. In e, and nowhere else, are `other.field`, `other.entity`, `offset` and
    `distance`; no question stands in another. The radius is a number above 0 or an argument, and
    the component has a `space`; in the world, that whose rows ask and those who are asked have one
    in common.
E815 no turns or rows here
    `turns` lets rows act one after the other. Rows in chunks do not, nor do those of kernels that
    read `parent`, which go level by level, whatever the order of rows. So the latter take no
    `rows=` and no argument with `each: true` either: let a kernel before them write what differs
    from row to row into a field, or a bool for the rows that are meant, and read that.

# what a change of the schemas breaks
E901 saved data would be refused
    `ecsgen breaking`: something is gone that older files have values of, and nobody says what
    became of it. `renamed_from: [old]` says that it is called otherwise now, `removed: [old]` that
    its values may go.
E902 saved values may not fit
    `ecsgen breaking`: the new type or policy has no place for all values that the old one could
    have. Loading refuses those that do not fit, and says which; `migrate` can change them before.
E903 no rule converts saved values
    `ecsgen breaking`: loading refuses rows of the old type. Keep it under another name, or make the
    new values in `migrate`.
E904 a policy forgets something saved
    `ecsgen breaking`: older files load, but without what only the old policy kept: owners, ids,
    parents, which rows are active, rows of the dead.
E905 a name with a past
    `ecsgen breaking`: an entry of `removed` or `renamed_from` is not there any more, or its name is
    used again. Files from before would be refused, or their old values taken for new ones.
E906 another unit
    `ecsgen breaking`: saved numbers stay as they are, and mean something else now. Convert them in
    `migrate`, or give the field a new name.
E951 a name is gone for code
    `ecsgen breaking`: code that names the component, field, member, kernel, query, group or bundle
    does not run any more.
E952 another type, shape, number or arguments
    `ecsgen breaking`: code finds the name, but something else behind it.
E953 methods of a policy are gone
    `ecsgen breaking`: without the policy, the component has fewer methods.

# hints
H101 a name that does not say what happens
    A kernel named `update` tells a reader nothing: name it after what it does to the data, such as
    `integrate` or `apply_damage`.
H102 a tag much like a built-in one
    Only `hot` and `cold` decide about the layout.
H103 indices that are never reused
    Freed indices are reused once more than `min_free` of them are free. With so few index bits that
    never happens.
H201 empty file
    The file holds no schema.
"""


def _listed() -> Iterator[tuple[str, Code]]:
    for code, title, lines in re.findall(r"^(\w+) (.*)\n((?:    .*\n)+)", _LIST, re.MULTILINE):
        yield code, Code(title, " ".join(lines.split()))


CODES: Final = dict(_listed())
