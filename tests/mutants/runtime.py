"""Ways to break what all managers call."""

from tests.mutants._base import Mutant, module

SMALL_BATCH = ("test_point_mass.py", "test_particle.py")
FIELDS = ("test_every_type.py",)

GROUPS = (
    module(
        "_runtime/tables/buffers.py",
        SMALL_BATCH,
        Mutant(
            "buffers start anywhere",
            r"(raw = np\.zeros\(.*\n.*\n +return) raw\[start : start \+ size\]",
            r"\1 raw[1 : 1 + size]",
        ),
        Mutant("buffers are no whole pages", r"-\(-size // PAGE\) \* PAGE", "size"),
        Mutant(
            "capacity is not rounded up", r"-\(-rows // CACHE_LINE\) \* CACHE_LINE", "max(rows, 1)"
        ),
        Mutant(
            "a column is copied from a wrong place",
            r"column\.bytes_before \* held",
            "column.before * capacity",
        ),
        Mutant("it grows by little", r"min\(2 \* allocated, ", "min(allocated, "),
        Mutant("every view is the same", r"and values\.strides == column\.strides", ""),
        Mutant("views in arguments count as held", r" \+ len\(seen\)", ""),
        Mutant("held views are not reported", r"if views > 0:", "if False:"),
    ),
    module(
        "_runtime/tables/buffers.py",
        ("test_archetypes.py",),
        Mutant(
            "buffers of chunks start anywhere",
            r"(raw = np\.empty\(.*\n.*\n +return) raw\[start : start \+ size\]",
            r"\1 raw[1 : 1 + size]",
        ),
    ),
    module(
        "_runtime/tables/columns.py",
        SMALL_BATCH,
        Mutant("rows are lost when the buffer moves", r"copy_rows\(.*\)"),
        Mutant("held views are not reported", r"warn_if_viewed\(.*\)"),
        Mutant("arguments count as held views", r"self\.MANAGER, borrowed\)", "self.MANAGER, ())"),
        Mutant("a refused move leaves the new buffer", r"self\._use_buffer\(old, held\)"),
        Mutant(
            "it grows by little", r"grown_capacity\(self\._allocated, rows\)", "round_up_rows(rows)"
        ),
        Mutant("a fitting reserve moves rows", r"> self\._allocated:", ">= self._allocated:"),
        Mutant("reserve takes more", r"self\._allocate\(round_up_rows\(.*\)", "self._grow(rows)"),
        Mutant("what moves is not counted", r"version \+ is_counted", "version"),
        Mutant("shrinking changes nothing", r"if capacity < self\._allocated:", "if False:"),
        Mutant("shrinking moves what fits", r"< self\._allocated:", "<= self._allocated:"),
        Mutant("saved numbers are not set", r"setattr\(self, name, number\)"),
        Mutant("saving loses the version", r'= \("_n", "_version"\)', '= ("_n",)'),
        Mutant(
            "saving loses how many rows are in use", r'= \("_n", "_version"\)', '= ("_version",)'
        ),
        Mutant("clearing spares the last row", r"return np\.arange\(self\._n\)$", r"\g<0>[:-1]"),
        Mutant("saved rows are not loaded", r"\[: len\(cells\)\] = cells", "[:0] = cells[:0]"),
        Mutant("saving loses the capacity", r'state\["allocated"\]\)', "64)"),
        Mutant("owners can be overwritten", r"column\.flags\.writeable = False"),
        Mutant("the buffer takes no memory", r"self\._buffer\.nbytes \+ ", ""),
    ),
    module(
        "_runtime/base/specialisation.py",
        ("test_status_effect.py", "test_spark.py"),
        Mutant("only the last class says what is saved", r"reversed\(kind\.__mro__\)", "(kind,)"),
        Mutant(
            "base classes do not say what is saved",
            r"reversed\(kind\.__mro__\)",
            "kind.__mro__[:2]",
        ),
    ),
    module(
        "_runtime/base/locks.py",
        FIELDS,
        Mutant("a broken one is as it was", r'object\.__setattr__\(target, "__class__", .*\)'),
        Mutant(
            "attributes of broken ones are found",
            r"return refuse\(self\)",
            "return object.__getattribute__(self, name)",
        ),
        Mutant("attributes of broken ones are set", r'"__setattr__", ', ""),
        Mutant("a broken one hides what it was", r'"__repr__": text', '"__repr__": refuse'),
    ),
    module(
        "_runtime/tables/placement.py",
        SMALL_BATCH,
        Mutant("rows given twice are accepted", r"if len\(ascending\) < len\(rows\):", "if False:"),
        Mutant(
            "survivors in the wrong order", r"stays\.nonzero\(\)\[0\]", "stays.nonzero()[0][::-1]"
        ),
        Mutant("the last one that stays does not move", r"if n_kept == 0:", "if n_kept <= 1:"),
        Mutant(
            "orders that are no permutation",
            r"len\(order\) != n or not np\.logical_and\.reduce\(seen\)",
            "False",
        ),
    ),
    module(
        "_runtime/managers/manager.py",
        SMALL_BATCH,
        Mutant(
            "the row behind the last is accepted",
            r"number < self\.data\.n",
            "number <= self.data._n",
        ),
        Mutant(
            "the row behind the last is accepted among many", r"\(numbers >= n\)", "(numbers > n)"
        ),
        Mutant("rows outside are accepted", r"if np\.logical_or\.reduce\(wrong\):", "if False:"),
        Mutant("masks of any length", r"if len\(numbers\) != n:", "if False:"),
    ),
    module(
        "_runtime/tables/bulk.py",
        ("test_particle.py", "test_tile.py", "test_transform.py"),
        Mutant("other owners are found", r"block\[other\] = NIL"),
        Mutant("no entity is found among many", r"is_owner &= entities != 0"),
        Mutant("none has a row where there are none", r"rows\.fill\(NIL\)", "rows.fill(0)"),
    ),
    module(
        "_runtime/base/specialisation.py",
        ("test_point_mass.py", "test_sound_source.py"),
        Mutant("what is inherited from afar is not copied", r"__mro__\[1:\]", "__bases__"),
        Mutant("copies know no defaults", r"method\.__defaults__", "None"),
        Mutant("methods are not marked", r"setattr\(method, _MARK, True\)"),
        Mutant(
            "copies share their code",
            r"method\.__code__\.replace\(co_names=read\)",
            "method.__code__",
        ),
        Mutant("copies have no annotations", r"copy\.__annotations__ = .*"),
    ),
    module(
        "_runtime/base/callbacks.py",
        ("test_texture.py", "test_skinned_mesh.py"),
        Mutant(
            "failing callbacks stop the others",
            r"(self\.)?errors\.extend\(flatten_exceptions\(error\)\)",
            "raise",
        ),
        Mutant("failures are forgotten", r"raise _leaving\(error, errors\)"),
        Mutant(
            "the queued are forgotten", r"(if self\.queue:\n +)self\.empty_queue\(\)$", r"\1pass"
        ),
        Mutant("a cancelled callback runs", r"if entry\.is_active:", "if True:"),
    ),
    module(
        "_runtime/values/field_types.py",
        FIELDS,
        Mutant("integers that do not fit", r"if self\._low <= number <= self\._high:", "if True:"),
        Mutant("numbers become infinite", r"isinf\(number\) and not _is_finite\(value\):", "True:"),
        Mutant("NUL in text", r" and 0 not in text", ""),
        Mutant("text is cut", r"if len\(text\) <= self\._size and", "if"),
        Mutant("numbers of no member", r"if number in self\._members or", "if True or"),
        Mutant("values broadcast anyhow", r"actual in \(size, 1\)", "True"),
    ),
    module(
        "_runtime/values/field_types.py",
        ("test_particle.py",),
        Mutant(
            "values may be views of what they change",
            r"if buffer is not None and np\.may_share_memory\(array, buffer\):",
            "if False:",
        ),
    ),
)
