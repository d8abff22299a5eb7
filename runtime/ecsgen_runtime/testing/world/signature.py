"""Signatures: the components of entities as flags."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ...errors import CapacityError
from ..searching import SEARCH
from ..subject import Roomy


class Cases(Roomy):
    """The signatures of a world."""

    world: ClassVar[Any]
    signature: ClassVar[Any]

    def flag(self, module: str) -> Any:
        """Return the flag of a component."""
        return self.signature[module.upper()]

    def test_each_component_has_a_bit_of_its_own(self) -> None:
        flags = [self.flag(module) for module in self.subjects]
        assert [int(flag) for flag in flags] == [1 << k for k in range(len(flags))]

    @SEARCH
    @given(st.data())
    def test_equal_to_what_the_managers_say(self, data: st.DataObject) -> None:
        if not self.subjects:
            return
        w = self.world()
        everywhere: list[int] = []
        sets = st.lists(st.sampled_from(sorted(self.subjects)), unique=True)
        for modules in data.draw(st.lists(sets, max_size=6)):
            try:
                es = w.spawn(2, **{module: {} for module in modules}).tolist()
            except CapacityError:  # the handles of this project are small
                break
            everywhere += es
            expected = self.signature(0)
            for module in modules:
                expected |= self.flag(module)
            for e in es:
                assert w.signature(e) == expected
                assert type(w.signature(e)) is self.signature
        many = w.signatures(everywhere)
        assert many.shape == (len(everywhere),)
        assert many.tolist() == [int(w.signature(e)) for e in everywhere]
        for module in self.subjects:
            getattr(w, module).remove_many(np.array(everywhere[:3], np.uint64))
        assert w.signatures(everywhere).tolist() == [0] * len(everywhere[:3]) + [
            *many[3:].tolist()
        ]

    def test_asking_sets(self) -> None:
        flags = [self.flag(module) for module in self.subjects]
        nothing = self.signature(0)
        assert nothing.none_of(nothing)
        assert nothing.all_of(nothing)
        assert not nothing.any_of(nothing)
        for flag, other in pairwise([*flags, nothing]):
            both = flag | other
            assert both.any_of(flag)
            assert both.all_of(both)
            assert not flag.none_of(both)
            assert flag.any_of(both)
            assert flag.all_of(both) == (other == nothing)
            assert flag.none_of(other)

    def test_nobody_has_nothing(self) -> None:
        w = self.world()
        assert w.signatures([]).tolist() == []
        assert w.signature(0) == 0
        assert w.signatures([0, 1 << 63]).tolist() == [0, 0]
