"""The work of Python on the samples of a batch: PIL images, transforms, collate functions.

It runs in the thread that iterates, or in a worker process. It refers to neither dataset nor core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake._errors import CorruptError, InvalidArgumentError
from deeplake._load.seeds import Generators, row_seeds
from deeplake._samples.pictures import shown

# Is told of a row that is left out, with its tensor and why.
Skip = Callable[[int, str, Exception], None]
# Is told of a row of a damaged file that was accepted, with its tensor and the damage.
Accept = Callable[[int, str, str], None]
# Columns that the core adds, by name: the numbers of the rows are "_index".
Marks = dict[str, npt.NDArray[Any]]

_JPEG, _JPEG_END = b"\xff\xd8", b"\xff\xd9"  # how a file begins and ends


@dataclass
class Made:
    """The results for some rows of a batch."""

    # by name: a list with a value for each row, or the result of a batched transform
    columns: dict[str, Any]
    # the place in the batch of each row that is left, or of the row that it was made of; None: all
    # rows are left
    places: list[int] | None = None
    collated: bool = False
    value: Any = None  # if collated: the batch


class Rows:
    """The rows of a batch, and which of them are to be left out of it."""

    def __init__(self, index: npt.NDArray[np.int64], skip: Skip | None, accept: Accept | None = None) -> None:
        self.index = index  # their numbers
        self._skip, self._accept = skip, accept
        self._accepted: set[int] = set()  # places
        self._failed: set[int] = set()  # places
        self.emptied = False  # all were left out

    def fail(self, place: int, tensor: str, failure: Exception) -> None:
        """Raises the failure of a row, or notes that the row is to be left out."""
        if self._skip is None:
            raise failure
        if place not in self._failed:
            self._failed.add(place)
            self._skip(int(self.index[place]), tensor, failure)

    def accept(self, place: int, tensor: str, error: str) -> None:
        """Notes that a row of a damaged file is accepted."""
        if self._accept is not None and place not in self._accepted:
            self._accepted.add(place)
            self._accept(int(self.index[place]), tensor, error)

    def settle(self) -> list[int] | None:
        """Forgets the rows that have failed, and returns the places of the others; None: all are
        left.
        """
        if not self._failed:
            return None
        places = [place for place in range(len(self.index)) if place not in self._failed]
        self.index = self.index[places]
        self._failed.clear()
        self.emptied = not places
        return places


@dataclass(frozen=True)
class Steps:
    """The Python steps of a loader. It pickles if its callables do."""

    uri: str
    # The htypes of tensors that are files, for PIL images; of a mixture one for each view.
    pil: dict[str, tuple[str, ...]]
    steps: dict[str, tuple[Callable[[Any], Any], ...]]  # of the samples of one tensor
    row: Callable[[Any], Any] | None
    collate: Callable[[list[dict[str, Any]]], Any] | None
    batched: bool  # steps and row take all samples of a batch at once
    return_index: bool
    seed: int
    accepts: bool  # damaged JPEG files, as far as Pillow can decode them
    _generators: list[Generators] = field(default_factory=list, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.uri, self.pil, self.steps, self.row, self.collate, self.batched, self.return_index, self.seed)
        return Steps, (*parts, self.accepts)

    @property
    def whole(self) -> bool:
        """Whether a batch cannot be divided: a callable takes all of its rows."""
        return self.batched or self.collate is not None

    @property
    def generators(self) -> Generators:
        """The generators that the callables draw from."""
        if not self._generators:
            every = [step for steps in self.steps.values() for step in steps]
            self._generators.append(Generators([*every, self.row, self.collate]))
        return self._generators[0]

    def run(
        self,
        columns: dict[str, Any],
        marks: Marks,
        epoch: int | None,
        skip: Skip | None = None,
        accept: Accept | None = None,
    ) -> Made:
        """Returns the results for some rows.

        The generators of random numbers are seeded before each callable, by (seed, epoch, row).

        Args:
            columns: a list of samples for each tensor, None for a missing one.
            marks: `_index`, int64 of shape (rows,), maybe `_source` and `_valid`.
            epoch: None leaves the generators alone.
            skip: is told of each row that cannot be read, and the row is left out.
            accept: is told of each row whose damage is accepted.
        """
        rows = Rows(marks["_index"], skip, accept)
        views = marks.get("_source")
        columns = {
            name: self._images(name, column, rows, views) if name in self.pil else column
            for name, column in columns.items()
        }
        places = rows.settle()
        if places is not None:
            columns = {name: [column[i] for i in places] for name, column in columns.items()}
            marks = {name: values[places] for name, values in marks.items()}
        if rows.emptied:
            return Made({}, [])
        seeds = None if epoch is None else row_seeds(self.seed, epoch, rows.index, marks.get("_source"))
        try:
            return self._run(columns, marks, rows.index, seeds, places)
        except StopIteration as err:
            # It would end the epoch without a word.
            raise InvalidArgumentError("load: a transform or collate function raised StopIteration") from err

    def _run(
        self, columns: dict[str, Any], marks: Marks, index: Any, seeds: list[int] | None, places: list[int] | None
    ) -> Made:
        if self.batched:
            columns = self._batched(columns, len(index), seeds)
        else:
            for name, steps in self.steps.items():
                columns[name] = self._transformed(name, steps, columns[name], index, seeds)
            if self.row is not None:
                columns, made_of = self._rows(columns, index, seeds)
                if made_of is not None:
                    marks = {name: values[made_of] for name, values in marks.items()}
                    places = made_of if places is None else [places[place] for place in made_of]
        if self.collate is None or places == []:
            return Made(columns, places)
        samples = _rows_of(columns)
        for name, values in marks.items():
            if name == "_valid" or self.return_index:
                for sample, value in zip(samples, values.tolist(), strict=True):
                    sample[name] = value
        if seeds is not None:
            self.generators.seed(seeds[0])
        return Made({}, places, collated=True, value=self.collate(samples))

    def _images(self, name: str, column: Any, rows: Rows, views: Any) -> list[Any]:
        """Returns the files of a column as Pillow's images.

        Args:
            views: the view of a mixture that each is of; None: there is one view.
        """
        done: list[Any] = []
        htypes = self.pil[name]
        for place, value in enumerate(column):
            htype = htypes[0 if views is None else int(views[place])]
            image = None
            try:
                image = self._image(value, name, htype, place, rows)
            except Exception as err:
                # No name for the failure here: its cause knows this frame, and both would keep the
                # batch.
                rows.fail(place, name, self._undecodable(name, rows.index[place], err))
            done.append(image)
        return done

    def _image(self, value: Any, name: str, htype: str, place: int, rows: Rows) -> Any:
        """Returns Pillow's image of a file, or those of a sequence of files."""
        if isinstance(value, list):
            return [self._image(item, name, htype, place, rows) for item in value]
        if not isinstance(value, bytes):
            return value
        try:
            return shown(value, htype)
        except Exception as err:
            if not self.accepts or not value.startswith(_JPEG):
                raise
            # With an end marker a cut file is whole to Pillow. LOAD_TRUNCATED_IMAGES adds the same
            # marker, but it holds for all threads of the process.
            image = shown(value + _JPEG_END, htype)
            row = rows.index[place]
            rows.accept(place, name, f'load tensor "{name}": row {row} of "{self.uri}" is damaged: {err}')
            return image

    def _undecodable(self, name: str, row: int, cause: Exception) -> CorruptError:
        failure = CorruptError(
            f'load tensor "{name}": Pillow cannot decode row {row} of "{self.uri}": {cause}; '
            'on_error="skip" of a loader leaves such rows out'
        )
        failure.__cause__ = cause
        return failure

    def _transformed(
        self,
        name: str,
        steps: Sequence[Callable[[Any], Any]],
        samples: list[Any],
        index: Any,
        seeds: list[int] | None,
    ) -> list[Any]:
        """Returns the samples with all steps applied; an error carries the row and the tensor."""
        done: list[Any] = []
        seed = self.generators.seed
        try:
            for place, sample in enumerate(samples):
                if sample is not None:
                    if seeds is not None:
                        seed(seeds[place])
                    for step in steps:
                        sample = step(sample)
                done.append(sample)
        except Exception as err:
            where = f'the transform of tensor "{name}"' if name else "the transform"
            note(err, f'in {where}, row {index[len(done)]} of "{self.uri}"')
            raise
        return done

    def _rows(
        self, columns: dict[str, Any], index: Any, seeds: list[int] | None
    ) -> tuple[dict[str, Any], list[int] | None]:
        """Returns the columns of transformed rows, and the place of the row that each was made of;
        None: each row became one.
        """
        assert self.row is not None
        results = self._transformed("", (self.row,), _rows_of(columns), index, seeds)
        if not any(result is None or isinstance(result, list) for result in results):
            return _columns_of(results, index), None
        rows: list[Any] = []
        made_of: list[int] = []
        for place, result in enumerate(results):
            several = [] if result is None else result if isinstance(result, list) else [result]
            rows += several
            made_of += [place] * len(several)
        return _columns_of(rows, index[made_of]), made_of

    def _batched(self, columns: dict[str, Any], count: int, seeds: list[int] | None) -> dict[str, Any]:
        """Returns the columns that batched callables make of those of a batch."""
        columns = dict(columns)
        for name, steps in self.steps.items():
            for step in steps:
                columns[name] = self._called(f'the transform of tensor "{name}"', step, columns[name], seeds)
            check_count(name, columns[name], count)
        if self.row is None:
            return columns
        made = self._called("the transform", self.row, columns, seeds)
        if not isinstance(made, Mapping):
            raise InvalidArgumentError(
                f"load: the batched transform returned a {type(made).__name__}, want a dict of columns"
            )
        columns = dict(made)
        for name, column in columns.items():
            check_count(name, column, count)
        return columns

    def _called(self, what: str, step: Callable[[Any], Any], value: Any, seeds: list[int] | None) -> Any:
        if seeds is not None:
            self.generators.seed(seeds[0])
        try:
            return step(value)
        except Exception as err:
            note(err, f'in {what}, for a whole batch of "{self.uri}"')
            raise


def check_count(name: str, column: Any, count: int) -> None:
    """Refuses a column of a batched transform that has not one entry for each row."""
    try:
        length = len(column)
    except TypeError:
        raise InvalidArgumentError(
            f'load: the batched transform returned a {type(column).__name__} for "{name}", want a list or an array '
            "with an entry for each row"
        ) from None
    if length != count:
        raise InvalidArgumentError(
            f'load: the batched transform returned {length} entries for "{name}", want one for each of the {count} rows'
        )


def _rows_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _columns_of(rows: list[Any], index: Any) -> dict[str, Any]:
    """Returns transformed rows as columns again. All rows must have the same keys."""
    for row, number in zip(rows, index, strict=True):
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(
                f"load: the transform returned a {type(row).__name__} for row {number}, want a dict of samples, None "
                "to leave the row out, or a list of dicts"
            )
        if row.keys() != rows[0].keys():
            raise InvalidArgumentError(
                f"load: the transform returned the keys {sorted(row)} for row {number} and {sorted(rows[0])} for "
                f"row {index[0]}; want the same for every row"
            )
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def note(err: BaseException, text: str) -> None:
    """Adds a note to an error, from Python 3.11 on."""
    if hasattr(err, "add_note"):
        err.add_note(text)
