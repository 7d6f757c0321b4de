"""The reading half that views and datasets share: tensors, schema, rows, tables, the map style."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from deeplake import _index
from deeplake._hosts.loadable import Loadable
from deeplake._load.options import Decode, Transform
from deeplake._load.plan import Options
from deeplake._names import checks_keywords
from deeplake._rows import tensor as _tensor
from deeplake._rows.row import Row, rows_at, rows_of
from deeplake._rows.source import Source, sources
from deeplake._rows.tensor import Tensor
from deeplake._text import printable, table

_CHUNK_BYTES = 8 << 20  # the default of the core, format.DefaultChunk

if TYPE_CHECKING:
    from deeplake._hosts.torch import MapDataset
    from deeplake._show.plot import Plot
    from deeplake._show.visualize import Visualizer


class Reading(Loadable):
    """The methods of `View` that make no other view. They need its source alone."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        """The place of the dataset: an absolute path or a URI."""
        return self._source.uri

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by their full names, in order of creation."""
        return {name: Tensor(self._source, name) for name in self._source.tensors()}

    @property
    def schema(self) -> dict[str, dict[str, Any]]:
        """The arguments that create each tensor, in the form of `deeplake.create(schema=...)`."""
        return {name: _stated(about) for name, about in self._source.tensors().items()}

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The dataset row of each row, int64 of shape (rows,), -1 for none.

        Raises:
            UnsupportedError: a query joined or computed the rows.
        """
        return self._source.pinned().numbers()

    indices = rows

    @overload
    def source(self, rows: int) -> str | None: ...
    @overload
    def source(self, rows: Any = None) -> list[str | None]: ...
    def source(self, rows: Any = None) -> str | list[str | None] | None:
        """Returns the file from which a row was imported: its path within the folder or bucket
        that `deeplake create` read. Of an archive, the name of the row's members follows, as in
        "shards/0.tar/cat/17".

        Args:
            rows: an int gives one path; a slice, ints or a boolean mask give a list, None of all
                rows.

        Returns:
            None for a row that was not imported, or that a query joined or computed.
        """
        return sources(self._source, rows)

    if not TYPE_CHECKING:  # which would take every name as known

        def __getattr__(self, name: str) -> Any:
            """Returns what other libraries call so, or says what to write here."""
            from deeplake._neighbours import dataset_attribute

            return dataset_attribute(self, name)

    def __len__(self) -> int:
        return self._source.length()

    def __contains__(self, name: object) -> bool:
        """Returns whether a tensor or a group of tensors has that name."""
        names = self._source.names()
        return isinstance(name, str) and (name in names or any(one.startswith(f"{name}/") for one in names))

    def _ipython_key_completions_(self) -> list[str]:
        return self._source.names()

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows as they are at the start of the iteration."""
        return rows_of(self._source)

    def __getitems__(self, indices: Sequence[int]) -> list[Row]:
        """Returns one Row for each int, read together. A DataLoader of torch calls it for each
        batch.
        """
        return rows_at(self._source, _index.many(list(indices), self._source.length()))

    @checks_keywords
    def to_arrow(
        self, *, tensors: Sequence[str] | None = None, images: Literal["encoded", "pixels"] = "encoded"
    ) -> Any:
        """Reads all rows into a `pyarrow.Table`, with a column for each tensor. A hole is null.

        Numbers without axes become columns of their dtype, class labels dictionaries of their
        names, and arrays nested lists, of fixed size if all samples have one shape. Text
        becomes strings, json its text, as in '"a"' for the str a, sequences lists.

        Args:
            tensors: names of tensors; None takes all.
            images: "encoded" gives JPEG, PNG and WebP files as binary; "pixels" gives arrays.

        Raises:
            UnsupportedError: pyarrow is not installed, or Arrow has no type for a tensor.
            TensorTypeError: samples of a tensor differ in their number of axes.
        """
        from deeplake._rows.arrow import to_arrow

        return to_arrow(self._source.pinned(), tensors, images)

    @checks_keywords
    def to_arrow_reader(
        self,
        *,
        tensors: Sequence[str] | None = None,
        images: Literal["encoded", "pixels"] = "encoded",
        batch_rows: int = 65536,
    ) -> Any:
        """Returns a `pyarrow.RecordBatchReader` of all rows, which reads a batch at a time. Columns
        are those of `to_arrow`.

        Programs that take Arrow streams read a view by itself, as in `duckdb.sql("FROM view")`,
        `polars.DataFrame(view)` and `pyarrow.table(view)`. They get all tensors but pictures,
        which `ds[["images"]]` or a query has to name.

        Args:
            tensors, images: as in `to_arrow`.
            batch_rows: the largest number of rows of a batch. Batches of large samples have fewer.

        Raises:
            UnsupportedError: pyarrow is not installed, or Arrow has no type for a tensor.
            TensorTypeError: samples of a tensor differ in their number of axes. Batches raise it.

        Example:
            pyarrow.dataset.write_dataset(ds.to_arrow_reader(), "folder", format="parquet")
        """
        from deeplake._rows.arrow import to_arrow_reader

        return to_arrow_reader(self._source.pinned(), tensors, images, batch_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns a stream of Arrow, a capsule: the protocol of data frames and databases."""
        from deeplake._rows.arrow import to_arrow_stream

        return to_arrow_stream(self._source.pinned(), requested_schema)

    @checks_keywords
    def to_pandas(
        self, *, tensors: Sequence[str] | None = None, images: Literal["encoded", "pixels"] = "encoded"
    ) -> Any:
        """Reads all rows into a `pandas.DataFrame`. Arguments, columns and errors are those of
        `to_arrow`.

        Class labels become categories. Integers and bools with holes have pandas' nullable dtypes;
        lists are objects. json becomes Python values: dicts, lists, str, numbers and bools.
        """
        from deeplake._rows.arrow import to_pandas

        return to_pandas(self._source.pinned(), tensors, images)

    @checks_keywords
    def torch_dataset(
        self,
        *,
        tensors: Sequence[str] | None = None,
        transform: Transform | None = None,
        decode: Decode = True,
        apply_exif_orientation: bool | Sequence[str] = False,
    ) -> MapDataset:
        """Returns a map-style dataset for a `torch.utils.data.DataLoader`. Rows are dicts of
        tensors.

        It has `__getitems__`, and works in forked and spawned workers. `pytorch` is faster.

        Args:
            tensors, transform, decode, apply_exif_orientation: as in `pytorch`.
        """
        from deeplake._hosts.torch import MapDataset

        options = Options(
            tensors=tensors,
            transform=transform,
            decode=decode,
            apply_exif_orientation=apply_exif_orientation,
            collate="list",
        )
        return MapDataset(self._source.pinned(), options)

    @checks_keywords
    def visualize(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        allow_hosts: Sequence[str] = (),
        height: int = 600,
        browser: bool | None = None,
        save_views: bool = False,
        allow: Sequence[str] = (),
    ) -> Visualizer:
        """Shows the rows in a browser or under a notebook cell. docs/visualizer.md describes the
        page.

        The server runs in this process, and reads only, unless `save_views` is set. It ends with
        `close()`, or with the process.

        Args:
            host: the address to listen on. Another than the default lets other machines in, if they
                have a link.
            port: 0 takes any free one.
            allow_hosts: names of proxies by which browsers reach the server.
            height: of the page in a notebook, in pixels.
            browser: open a browser; None does so at a desktop's terminal.
            save_views: let pages save what they show as views of the dataset.
            allow: addresses of datasets that queries of pages may name, and all below them. Without
                it they read the shown datasets alone.

        Raises:
            NotFoundError: this installation has no page.
            ReadOnlyError: `save_views` is set, and the dataset is open for reading alone.
            UnsupportedError: `save_views` is set, and the rows are of no single dataset.
            StorageError: the address cannot be listened on.
        """
        from deeplake._show.visualize import visualize

        return visualize(
            self._source.pinned(),
            host=host,
            port=port,
            allow_hosts=allow_hosts,
            height=height,
            browser=browser,
            save_views=save_views,
            allow=allow,
        )

    @checks_keywords
    def plot(
        self,
        rows: Any = None,
        columns: int | None = None,
        *,
        tensor: str | None = None,
        cell: int = 160,
        path: str | PathLike[str] | None = None,
    ) -> Plot:
        """Draws rows as one picture: a grid of pictures with boxes, masks and labels over them.

        It needs no browser and no other package. A sample that cannot be read is a grey cell with
        the error. The colours of classes are those of the page.

        Args:
            rows: an int, a slice, ints or a boolean mask; None draws the first 60.
            columns: pictures beside each other; None fits them into 1,000 pixels.
            tensor: the tensor of pictures or masks to draw; None takes the first of pictures.
            cell: the longer side of each picture in pixels, 16 to 4096.
            path: also write the PNG file there.

        Returns:
            A Plot: notebooks show it, `save(path)` writes it, `png` has its bytes.

        Raises:
            NotFoundError: there are no pictures, or no such tensor.
            InvalidArgumentError: the picture would have more than 40 million pixels.

        Example:
            ds.plot(range(20)).save("first.png")
        """
        from deeplake._show.plot import plot

        return plot(self._source.pinned(), rows, columns, tensor, cell, path)

    def summary(self) -> None:
        """Prints the tensors as a table."""
        print(_summary(self._title(), self._source))

    def __repr__(self) -> str:
        return _summary(self._title(), self._source)

    def _repr_html_(self) -> str | None:
        head, *body = _cells(self._source)
        lines = [f"<b>{escape(self._title())}</b>", "<table>"]
        lines += [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
        lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body]
        return "\n".join([*lines, "</table>"])

    def _title(self) -> str:
        return printable(f"{type(self).__name__} of {self.uri}, {_count(len(self), 'row')}")


def _stated(about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keyword arguments of create_tensor that make a tensor like this one."""
    spec: dict[str, Any] = {"htype": about["htype"], "dtype": about.get("time") or about["dtype"] or None}
    if about["shape"] is not None:
        spec["shape"] = tuple(None if axis is None or axis < 0 else axis for axis in about["shape"])
    spec["compression"] = about["compression"]
    for what in ("quality", "subsampling"):
        if about.get(what):
            spec[what] = about[what]
    if about["class_names"] is not None:
        spec["class_names"] = list(about["class_names"])
        if about["class_names"] and not about.get("closed_classes"):
            spec["add_classes"] = True
    if about["chunk_bytes"] != _CHUNK_BYTES:
        spec["chunk_bytes"] = about["chunk_bytes"]
    if about["info"]:
        spec["info"] = copy.deepcopy(about["info"])
    if about.get("apply_exif_orientation"):
        spec["apply_exif_orientation"] = True
    if levels := about.get("levels"):
        spec["downsample"] = (levels[0]["factor"], len(levels))
    return spec


def _cells(source: Source) -> list[list[str]]:
    rows = [["tensor", "htype", "dtype", "shape", "compression"]]
    for name, about in source.tensors().items():
        htype = about["htype"]
        if about["class_names"] is not None:
            htype += f" ({_count(len(about['class_names']), 'class', 'classes')})"
        rows.append(
            [name, htype, about.get("time") or about["dtype"] or "-", _tensor.shape_text(about), about["compression"]]
        )
    return rows


def _summary(title: str, source: Source) -> str:
    rows = _cells(source)
    if len(rows) == 1:
        return f"{title}\n  no tensors yet"
    return "\n".join([title, *table(rows)])


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
