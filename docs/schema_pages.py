"""Writes the pages of the language, from the model, and then llms.txt.

python docs/schema_pages.py [FOLDER]
"""

from __future__ import annotations

import runpy
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ecsgen.policies import list_keys
from ecsgen.schema import document_specs, kernel_specs, names
from ecsgen.schema import type_parser as types
from ecsgen.source.yaml_nodes import MAX_BYTES, MAX_DEPTH, MAX_NODES

_SECTIONS: Final[tuple[tuple[str, type[BaseModel]], ...]] = (
    ("`component:`", document_specs.ComponentSpec),
    ("A field", document_specs.FieldSpec),
    ("`partition`", document_specs.PartitionSpec),
    ("`hierarchy`", document_specs.HierarchySpec),
    ("`growth`", document_specs.GrowthSpec),
    ("`space`", document_specs.SpaceSpec),
    ("`grid`", document_specs.GridSpec),
    ("`on`", document_specs.OnSpec),
    ("`network`", document_specs.NetworkSpec),
    ("A kernel", kernel_specs.KernelSpec),
    ("An argument of a kernel", kernel_specs.ArgumentSpec),
    ("`turns`", kernel_specs.TurnsSpec),
    ("A reduction", kernel_specs.ReductionSpec),
    ("`enum:`", document_specs.EnumSpec),
    ("A member of an enum", document_specs.MemberSpec),
    ("`world:`", document_specs.WorldSpec),
    ("A setting", document_specs.SettingSpec),
    ("`entity`", document_specs.EntitySpec),
    ("A query", document_specs.QuerySpec),
    ("A kernel of the world", kernel_specs.WorldKernelSpec),
    ("`near` of a kernel", kernel_specs.NearSpec),
    ("An entry of a schedule", document_specs.EntrySpec),
    ("A column of a table", document_specs.RecordColumnSpec),
    ("A table with a line for each row", document_specs.RecordRowsSpec),
    ("`archetypes`", document_specs.ArchetypesSpec),
    ("`shards`", document_specs.ShardsSpec),
)

_INTRODUCTION: Final = f"""# The schema language

<!-- Made by `python docs/schema_pages.py`; change the model, not this page. -->

Schemas are plain YAML files, `**/*.yaml` and `**/*.yml` below the schema folder, read in order of
their paths. A file has any number of documents, separated by `---`; each has one kind key:
`component`, `enum` or `world`.

```yaml
component: PointMass
doc: A point mass moved by explicit integration.
fields:
  mass:     {{type: f32, default: 1.0, unit: kg, doc: Mass of the object.}}
  position: {{type: "f32[3]", unit: m}}
  velocity: "f32[3]"
  label:    {{type: "str[24]", tags: [cold]}}
lookup: hash
```

They are read as YAML 1.2: keys are always text (`on`, `yes` and `y` are names), only `true` and
`false` are booleans, and `012`, `1_000`, `12:30` and dates are text. Anchors, aliases, merge keys,
tags and duplicate keys are errors. A file is UTF-8, at most {MAX_BYTES // 2**20} MiB,
{MAX_DEPTH} levels deep, with {MAX_NODES:,} keys and values. Inside braces a type with a shape needs
quotes, as above.

[The second part](schema-world.md) has the keys of the document `world`, and
[Names](reserved-names.md) the names that you cannot take. `ecsgen schema` prints the language as
JSON Schema, for editors. Behind each key stand its value and its default; a bool is `false` by
default.
"""

_TYPES: Final = f"""## Field types

| type | a cell holds |
| --- | --- |
| `bool` | `True` or `False` |
| `i8` `i16` `i32` `i64` | a signed integer |
| `u8` `u16` `u32` `u64` | an unsigned integer |
| `f32` `f64` | a float |
| `entity` | the handle of an entity, 0 for none |
| `id<Component>` | a stable id of an instance of a component that has ids, 0 for none |
| `Mode` | a member of the enum `Mode`, in the smallest unsigned type that fits |
| `str[N]` | text of at most N UTF-8 bytes, without NUL |
| `bytes[N]` | exactly N bytes; shorter values are padded with zeros |
| `datetime[ms]` | a time without zone in a unit, `s`, `ms`, `us` or `ns`, or NaT, the default |
| `timedelta[ms]` | a span of time in such a unit, or NaT, the default |
| `object` | any Python object, in a column beside the buffer |

All but the last five can have a fixed shape: `f32[3]`, `f32[4,4]`, `id<Sprite>[4]`, up to
{types.MAX_DIMENSIONS} dimensions and {types.MAX_ELEMENTS:,} elements. N is at most
{types.MAX_SIZE:,}. Names are exact.
"""

_WORLD: Final = """# The schema language: the world

<!-- Made by `python docs/schema_pages.py`; change the model, not this page. -->

[The first part](schema.md) has the keys of components and enums.
"""

_NAMES: Final = f"""# Names

<!-- Made by `python docs/schema_pages.py`; change `ecsgen/schema/names.py`, not this page. -->

- Components, enums and worlds are CamelCase.
- Fields, kernels, members and arguments are identifiers.
- Queries, groups and bundles are identifiers in lower case.
- All are ASCII, at most {names.MAX_LENGTH} characters long, and do not begin with an underscore.
- Names that stand beside each other differ in more than upper and lower case.

Python's keywords and the names below are reserved, whatever the policies: switching a policy on
never breaks a name. You may take all other names, such as `range` or `Sequence`: generated code
then imports its own under another name.
"""

_BY_KEY: Final = "".join(
    f" beside one that is {key.is_what}, {' and '.join(map('`{}`'.format, key.methods))};"
    for key in list_keys("field")
    if key.methods
)
_BESIDE: Final = textwrap.fill(
    f"Beside a field `x`, `set_x` is taken;{_BY_KEY.format(x='x')} "
    "and beside a split one, the names of its columns: `x_x` and `x_y`, or `x_0` ….",
    100,
)


def schema_pages() -> dict[str, str]:
    """docs/schema.md and docs/schema-world.md."""
    parts, of_world, printed = [_INTRODUCTION], [_WORLD], dict[str, str]()
    for title, model in _SECTIONS:
        is_of_world = of_world[1:] or model is document_specs.WorldSpec
        page = "schema-world.md" if is_of_world else "schema.md"
        (of_world if is_of_world else parts).append(_section(title, model, page, printed))
        if model is document_specs.FieldSpec:
            parts.append(_TYPES)
    return {"schema.md": "\n".join(parts), "schema-world.md": "\n".join(of_world)}


def names_page() -> str:
    """docs/reserved-names.md."""
    return f"{_NAMES}\n{_reserved()}"


def _section(title: str, model: type[BaseModel], page: str, printed: dict[str, str]) -> str:
    """Return a section; keys that stand in another one already are links to that.

    `printed`: line of a key → link to its section.
    """
    lines = _lines(model)
    known, link = dict[str, list[str]](), f"[{title}]({page}#{_anchor(title)})"
    for key, line in lines.items():
        if line in printed:
            known.setdefault(printed[line], []).append(f"`{key}`")
    new = [line for line in lines.values() if line not in printed]
    heading = " ".join((model.__doc__ or "").split())
    is_told = any(line.startswith(f"- {title} (") for line in printed)
    parts = [f"## {title}", "" if is_told or heading[:-1] == title else heading, "\n".join(new)]
    printed |= dict.fromkeys(new, link)
    for other, keys in known.items():
        names_listed = f"{', '.join(keys[:-1])} and {keys[-1]}" if keys[1:] else keys[0]
        parts.append(f"As in {other}: {names_listed}.")
    return "\n\n".join(filter(None, parts)) + "\n"


def _anchor(title: str) -> str:
    return title.strip("`:").lower().replace(" ", "-").replace("`", "")


def _lines(model: type[BaseModel]) -> dict[str, str]:
    """Return the line of each key of a mapping."""
    lines = {}
    for name, field in model.model_fields.items():
        key, default = field.alias or name, _default(field)
        takes = f"{_value(field)}; {default}" if default else _value(field)
        lines[key] = f"- `{key}` ({takes}): {field.description or ''}"
    return lines


def _value(field: FieldInfo) -> str:
    if field.annotation is Any:
        return "a value of the type"
    return " or ".join(dict.fromkeys(_alternatives(field.annotation)))


def _alternatives(annotation: Any) -> Iterator[str]:
    """What a key takes, in words."""
    simple = {str: "text", int: "number", float: "number", bool: "bool"}
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in simple:
        yield simple[annotation]
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "mapping"
    elif origin is list:
        yield "list of " + " or ".join(_alternatives(arguments[0]))
    elif origin is dict:
        yield "name → " + " or ".join(_alternatives(arguments[1]))
    elif type(annotation).__name__ == "_LiteralGenericAlias":
        yield ", ".join(f"`{choice}`" for choice in arguments)
    elif hasattr(annotation, "__metadata__"):
        yield from _alternatives(annotation.__origin__)
    else:
        for argument in arguments:
            if argument is not type(None):
                yield from _alternatives(argument)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if isinstance(default, bool):
        return f"default `{str(default).lower()}`" if default else ""
    if isinstance(default, (int, str)) and default != "":
        return f"default `{default}`"
    return ""


def _reserved() -> str:
    modules = {key: of for key, of in names.MODULE_NAMES.items() if key not in names.WORLD_NAMES}
    made = ", ".join(f"`Foo{suffix}`" for suffix in names.DERIVED_CLASSES)
    parts = [
        _groups("fields, kernels, reductions and arguments", names.FIELD_NAMES),
        f"{_BESIDE}\n",
        _groups("components, enums and worlds", names.CLASS_NAMES),
        f"A component `Foo` also makes {made}.\n",
        _groups("queries, groups, kernels and schedules of the world", names.WORLD_NAMES),
        "Beside a bundle `b`, `spawn_b` is taken.\n",
        _groups("components, as names of modules (`PointMass` makes `point_mass`)", modules),
        "The names of worlds above are taken, too, and no module begins with `test_`. Members of "
        "queries, groups and archetypes are attributes there:\n",
        *_listed(names.QUERY_NAMES | names.GROUP_NAMES | names.CHUNK_NAMES),
        _groups("columns of tables", names.COLUMN_NAMES),
        "No table is called `open`, `flush`, `close`, `tick` or like a kernel of the world.\n",
        _groups("members of enums", names.MEMBER_NAMES),
    ]
    return "\n".join(parts)


def _groups(title: str, groups: dict[str, frozenset[str]]) -> str:
    return "\n".join([f"## Reserved for {title}", "", *_listed(groups)])


def _listed(groups: dict[str, frozenset[str]]) -> list[str]:
    lines = [
        f"- {holder} {' '.join(f'`{name}`' for name in sorted(reserved))}"
        for holder, reserved in groups.items()
    ]
    return ["\n".join(lines) + "\n"]


def pages() -> dict[str, str]:
    """File name in docs/ → text."""
    return {**schema_pages(), "reserved-names.md": names_page()}


def main(folder: Path) -> None:
    """Write the pages into `folder`."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    main(target)
    runpy.run_path(str(Path(__file__).with_name("assistant_page.py")))["main"](target)
