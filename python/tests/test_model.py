"""Random programs of writes agree with a list of dicts. Hypothesis draws them."""

from __future__ import annotations

import copy
import itertools

import deeplake
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

_numbers = itertools.count()
texts = st.text(st.characters(codec="utf-8"), max_size=8)
arrays = st.lists(st.integers(-100, 100), max_size=4).map(lambda values: np.array(values, np.int16))
rows = st.fixed_dictionaries(
    {"n": st.integers(-(2**63), 2**63 - 1), "text": texts, "list": arrays | st.none(), "json": st.none() | texts}
)


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class Program(RuleBasedStateMachine):
    """A dataset, and beside it the rows as they must be: `now`, and after every commit."""

    @initialize()
    def create(self):
        self.uri = f"mem://model-{next(_numbers)}"
        self.ds = deeplake.create(
            self.uri,
            schema={
                "n": {"dtype": "int64"},
                "text": {"htype": "text", "compression": "lz4"},
                "list": {"dtype": "int16", "shape": (None,), "chunk_bytes": 1 << 16},
                "json": "json",
            },
        )
        self.now: list[dict] = []
        self.commits: dict[str, list[dict]] = {self.ds.head.id: []}

    @rule(row=rows)
    def append(self, row):
        self.ds.append(_given(row))
        self.now.append(row)

    @rule(new=st.lists(rows, max_size=6), columns=st.booleans())
    def extend(self, new, columns):
        given = [_given(row) for row in new]
        if columns:
            self.ds.extend({name: [row[name] for row in given] for name in ("n", "text", "list", "json")})
        else:
            self.ds.extend(given)
        self.now += new

    @precondition(lambda self: self.now)
    @rule(data=st.data(), row=rows.filter(lambda row: row["list"] is not None))
    def update(self, data, row):
        index = data.draw(st.integers(-len(self.now), len(self.now) - 1))
        names = data.draw(st.sets(st.sampled_from(["n", "text", "list"]), min_size=1))
        change = {name: row[name] for name in names}
        self.ds.update(index, change)
        self.now[index] = {**self.now[index], **change}

    @precondition(lambda self: self.now)
    @rule(data=st.data())
    def delete(self, data):
        gone = data.draw(st.sets(st.integers(0, len(self.now) - 1), max_size=3))
        self.ds.delete(sorted(gone))
        self.now = [row for i, row in enumerate(self.now) if i not in gone]

    @rule()
    def commit(self):
        self.commits[self.ds.commit("step").id] = copy.deepcopy(self.now)

    @rule()
    def discard(self):
        self.ds.discard()
        self.now = copy.deepcopy(self.commits[self.ds.head.id])

    @rule()
    def reopen(self):
        self.ds.commit("before reopening")
        self.commits[self.ds.head.id] = copy.deepcopy(self.now)
        self.ds.close()
        self.ds = deeplake.open(self.uri)

    @rule(data=st.data())
    def past(self, data):
        commit = data.draw(st.sampled_from(sorted(self.commits)))
        check(self.ds.at(commit), self.commits[commit])

    @rule(data=st.data())
    def view(self, data):
        index = data.draw(
            st.builds(slice, *[st.none() | st.integers(-9, 9)] * 2, st.sampled_from([None, 1, -1, 2, -3]))
        )
        check(self.ds[index], self.now[index])

    @invariant()
    def same(self):
        check(self.ds, self.now)

    def teardown(self):
        self.ds.discard()
        self.ds.close()
        deeplake.delete(self.uri)


def _given(row):
    # Integers are given as NumPy would: a Python int over int64 has no dtype.
    return {**row, "n": np.int64(row["n"])}


def check(view, want):
    assert len(view) == len(want)
    got = {name: [plain(value) for value in view[name].numpy()] for name in ("n", "text", "list", "json")}
    assert got == {name: [plain(row[name]) for row in want] for name in ("n", "text", "list", "json")}


Program.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestProgram = Program.TestCase
