"""Rows that are parts of samples of other rows: clips of videos, and windows of episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from deeplake import _index, _native
from deeplake._errors import UnsupportedError
from deeplake._index import Rows
from deeplake._rows.source import Pinned
from deeplake._rows.video import decoder_folders, reader_of

_Numbers = npt.NDArray[np.int64]


class Parts(Pinned):
    """Parts of the samples of some rows. They pickle as the rows that they were made of, and their
    places: arrays with a number for each part, the first of which are the rows.
    """

    def __init__(self, of: Pinned, options: Mapping[str, Any], places: tuple[_Numbers, ...]) -> None:
        super().__init__(of.version, _index.compose(of.rows, places[0]))
        self.of, self.options, self.places = of, dict(options), places
        self._tensors: dict[str, dict[str, Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.of, self.options, self.places)

    def tensors(self) -> dict[str, dict[str, Any]]:
        """Returns the descriptions of the tensors, as the parts have them."""
        if self._tensors is None:
            self._tensors = self._described(super().tensors())
        return self._tensors

    def select(self, rows: Rows) -> Parts:
        """Returns the parts at some positions of these."""
        wanted = _index.as_array(rows)
        return type(self)(self.of, self.options, tuple(numbers[wanted] for numbers in self.places))

    def view(self) -> _native.View:
        """Returns the native view of the parts; opens it again in another process."""
        view = self._view
        if view is None or view.generation != _native.generation():
            view = self._view = self._made({**self.options, "folders": decoder_folders()})
        return view

    def _described(self, stored: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        raise NotImplementedError

    def _made(self, options: dict[str, Any]) -> _native.View:
        raise NotImplementedError


class Clips(Parts):
    """Clips of a tensor of videos."""

    def _described(self, stored: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        name, length = self.options["tensor"], self.options["length"]
        frame = [None, None, 3]
        single = self.options["frames"]
        about = _of("image.rgb" if single else "generic", "uint8", frame if single else [length, *frame])
        return {**stored, name: {**stored[name], **about}}

    def _made(self, options: dict[str, Any]) -> _native.View:
        return self.of.view().clips(options, *self.places)


class Windows(Parts):
    """Windows of episodes."""

    def _described(self, stored: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        named = {tensor["name"]: tensor for tensor in self.options["tensors"]}
        out: dict[str, dict[str, Any]] = {}
        for name, about in stored.items():
            tensor = named.get(name)
            if tensor is None:
                out[name] = about
                continue
            htype, dtype, entry = _entry(about)
            axis = [] if tensor["single"] else [len(tensor["times"])]
            shape = None if entry is None else [*axis, *entry]
            out[name] = {**about, **_of(htype if tensor["single"] else "generic", dtype, shape)}
            if axis:
                out[f"{name}_is_pad"] = _computed(about, f"{name}_is_pad", "bool", axis)
        first = self.options["tensors"][0]["name"]
        out.setdefault("frame_index", _computed(stored[first], "frame_index", "int64", []))
        return out

    def _made(self, options: dict[str, Any]) -> _native.View:
        return self.of.view().windows(options, *self.places)


def _of(htype: str, dtype: Any, shape: Any) -> dict[str, Any]:
    about = {"htype": htype, "dtype": dtype, "shape": shape}
    return {**about, "compression": "none", "min_shape": None, "max_shape": None}


def _computed(about: dict[str, Any], name: str, dtype: str, shape: list[int]) -> dict[str, Any]:
    return {**about, "name": name, "info": {}, "class_names": None, **_of("generic", dtype, shape)}


def _entry(about: dict[str, Any]) -> tuple[str, Any, list[int | None] | None]:
    """Returns htype, dtype and shape of an entry of a sample; None: the shape is not known."""
    htype = about["htype"]
    if htype == "video":
        return "image.rgb", "uint8", [None, None, 3]
    shape, least, most = about["shape"], about["min_shape"], about["max_shape"]
    if shape is None and least is not None and most is not None:
        shape = [a if a == b else None for a, b in zip(least, most, strict=True)] if len(least) == len(most) else None
    if htype.startswith("sequence["):
        return htype.removeprefix("sequence[").removesuffix("]"), about["dtype"], shape
    return "generic", about["dtype"], shape[1:] if shape else None


def place_clips(source: Pinned, options: Mapping[str, Any]) -> Clips:
    """Places clips in all videos of a tensor."""
    source.require(options["tensor"])
    return Clips(source, options, reader_of(source, options["tensor"]).place(options))


def frame_tensors(source: Pinned, options: Mapping[str, Any]) -> list[str]:
    """Lists the tensors besides those of windows that have an entry for each frame."""
    for tensor in options["tensors"]:
        source.require(tensor["name"])
    return source.view().frame_tensors({**options, "folders": decoder_folders()})


def place_windows(source: Pinned, options: Mapping[str, Any]) -> Windows:
    """Places windows in all episodes."""
    for tensor in options["tensors"]:
        source.require(tensor["name"])
    return Windows(source, options, source.view().place_windows({**options, "folders": decoder_folders()}))


_FIRST = "choose rows and tensors of the dataset first, as ds.query(...).clips(...)"
_COPY = "append the arrays of these rows to another dataset, and take that"
_WHOLE = "take the rows of the dataset, with its whole videos and arrays"
_NOT_CLIPS = {
    **dict.fromkeys(("query", "explain", "split by saved views"), _FIRST),
    "select tensors": 'choose them first, as ds[["video"]].clips(...), or by tensors= of the loader',
    "save": "save a view of the dataset, and make the clips or windows of ds.load_view(name)",
    **dict.fromkeys(("clips", "frames", "windows"), "make other ones of the dataset, or of a view that holds its rows"),
    **dict.fromkeys(("visualize", "plot"), f"{_WHOLE}, or {_COPY}"),
}


def _refusal(called: str) -> UnsupportedError:
    return UnsupportedError(
        f"{called}: the rows of a view of clips or windows are parts of samples, for loaders and indexing; "
        + _NOT_CLIPS.get(called, f"{_COPY}, or {_WHOLE}")
    )


def _refused(called: str) -> Any:
    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise _refusal(called)

    return refuse


class NoTable:
    """Refuses the methods of `View` that take its rows as a table: those of a view of clips."""

    __slots__ = ()

    query, explain, save, materialize = map(_refused, ("query", "explain", "save", "materialize"))
    export, visualize, plot = map(_refused, ("export", "visualize", "plot"))
    to_arrow, to_arrow_reader, to_pandas = map(_refused, ("to_arrow", "to_arrow_reader", "to_pandas"))
    to_polars, to_ray, to_pyarrow_dataset = map(_refused, ("to_polars", "to_ray", "to_pyarrow_dataset"))
    clips, frames, windows = map(_refused, ("clips", "frames", "windows"))
    __arrow_c_stream__ = _refused("convert to Arrow")

    def _asked(self, text: str, called: str) -> NoReturn:
        raise _refusal(called)
