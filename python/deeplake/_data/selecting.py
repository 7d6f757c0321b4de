"""The methods of views that choose rows of the same version, or clips of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from deeplake._checks import check_choice, check_flag
from deeplake._data.parts import ends_of, parts_of
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._lazy import package
from deeplake._names import checks_keywords, quoted, suggest
from deeplake._rows.clips import frame_tensors
from deeplake._rows.row import Row, rows_of
from deeplake._rows.source import Pinned, Source, open_native
from deeplake._rows.video import rate, seconds, whole

if TYPE_CHECKING:
    from deeplake._data.view import ClipView, View
    from deeplake._index import Rows


def _as_query(condition: object) -> str:
    """Returns the advice for a condition that is text, which some libraries filter by."""
    return f"; ds.query({f'SELECT * WHERE {condition}'!r}) takes text" if isinstance(condition, str) else ""


class Selecting(Reading):
    """The methods of `View` that choose some of its rows."""

    __slots__ = ()

    def filter(self, fn: Callable[[Row], object]) -> View:
        """Returns the rows for which `fn(row)` is true, in order.

        Args:
            fn: called once for each row, in this thread. The tensors that it looks at are read for
                many rows at a time; other tensors are not read.
        """
        if not callable(fn):
            raise InvalidArgumentError(f"filter: fn is a {type(fn).__name__}, want a function of a row{_as_query(fn)}")
        fixed = self._select(range(self._source.pinned().length()))
        picked = np.fromiter((bool(fn(row)) for row in rows_of(fixed._source)), np.bool_)
        return fixed._select(np.flatnonzero(picked))

    @checks_keywords
    def clips(
        self,
        tensor: str,
        *,
        length: int,
        stride: int = 1,
        fps: float | None = None,
        windows: Literal["sliding", "all", "random"] = "sliding",
        step: int | None = None,
        count: int | None = None,
        seed: int = 0,
        short: Literal["repeat", "drop"] = "repeat",
    ) -> ClipView:
        """Returns clips of videos as rows, for loaders: each row has `length` frames of a video,
        and the other tensors of its row. Rows without a video have no clip.

        Only the tables of the videos are read here. A batch reads the packets that its frames need,
        with what lies within their ranges of checksums and in short gaps between them.

        Args:
            tensor: a tensor of htype video.
            length: the frames of a clip.
            stride: the distance of its frames, 1 for neighbours.
            fps: counts frames as if the video had so many a second: those that are shown at times
                0, 1/fps, 2/fps and so on from the first frame. None counts all frames of the video.
            windows: "sliding" places clips one behind the other, "all" at every frame, up
                to the first one that reaches the end, and "random" anywhere, `count` of them for
                each video, others in each epoch of a loader.
            step: with "sliding", the frames from one clip to the next; None takes
                `length * stride`, so that clips touch.
            count: with "random", the clips of each video; None is 1.
            seed: with "random", the seed of the draws, which are the same on every machine.
            short: "repeat" repeats the last frame where the last clip of a video reaches beyond the
                end; "drop" leaves it out.

        Returns:
            A view whose `tensor` has uint8 arrays of shape (length, height, width, 3) in RGB.

        Raises:
            NotFoundError: there is no such tensor.
            TensorTypeError: it is no tensor of videos.
            InvalidArgumentError: an argument is out of its range, or is for other windows.

        Example:
            for batch in ds.clips("video", length=16, stride=2).pytorch(batch_size=8, shuffle=True):
                model(batch["video"])
        """
        check_choice("make clips", "windows", windows, ("sliding", "all", "random"))
        check_choice("make clips", "short", short, ("repeat", "drop"))
        for name, value, of in (("step", step, "sliding"), ("count", count, "random")):
            if value is not None and windows != of:
                raise InvalidArgumentError(
                    f'make clips: {name} is {value!r}, and windows is "{windows}"; {name} is for windows="{of}"'
                )
            if value is not None:
                whole("make clips", name, value, least=1)
        options: dict[str, Any] = {"windows": "sliding" if windows == "all" else windows, "short": short}
        options |= {"step": 1 if windows == "all" else step or 0, "fps": rate("make clips", fps), "frames": False}
        for name, value in (("length", length), ("stride", stride), ("count", 1 if count is None else count)):
            options[name] = whole("make clips", name, value)
        options["seed"] = whole("make clips", "seed", seed, least=0, most=2**64 - 1)
        options["tensor"] = tensor
        return self._clips(options)

    @checks_keywords
    def frames(self, tensor: str, *, fps: float | None = None, step: int = 1) -> ClipView:
        """Returns the frames of videos as rows: each row has one frame, and the other tensors of
        its row.

        Args:
            tensor: a tensor of htype video.
            fps: the frames that are shown at times 0, 1/fps, 2/fps and so on from the first one.
                None takes all.
            step: the distance of frames, as counted by `fps`.

        Returns:
            A view whose `tensor` has uint8 pictures of shape (height, width, 3) in RGB.

        Raises:
            NotFoundError, TensorTypeError: as `clips`.

        Example:
            for batch in ds.frames("video", fps=1).pytorch(batch_size=64):
                embed(batch["video"])
        """
        whole("make frames", "step", step, least=1)
        options = {"tensor": tensor, "length": 1, "stride": 1, "windows": "sliding", "step": step}
        options |= {"fps": rate("make frames", fps), "count": 1, "seed": 0, "short": "drop", "frames": True}
        return self._clips(options)

    @checks_keywords
    def windows(
        self,
        delta_timestamps: Mapping[str, float | Sequence[float]],
        *,
        fps: float | None = None,
        step: int = 1,
        tolerance: float = 1e-4,
        others: Literal["episode", "frame"] = "episode",
    ) -> ClipView:
        """Returns moments of episodes as rows, for loaders: each row of this view is an episode,
        and the result has a row for each of its frames.

        Tensors with an entry for each frame are named: arrays of shape (frames, ...), sequences
        of arrays, pictures or, for a single time, texts, and videos. A row of the result has their
        entries at some times before and after its frame, and the other tensors as `others` says.

        Args:
            delta_timestamps: times in seconds from the frame, by tensor, as LeRobot's. A number
                instead of a list is one entry, without an axis: 0 is that of the frame itself.
            fps: frames a second of all episodes. Times are multiples of 1 / fps. None takes the
                number `fps` of the dataset's `info`, where imports of LeRobot keep it.
            step: the frames from one row to the next in an episode.
            tolerance: the seconds by which a time may differ from a multiple of 1 / fps, and a
                frame of a video from its time.
            others: "episode" leaves all other tensors as they are, so arrays are those of the whole
                episode. "frame" gives the entry of the frame, as 0 would, of those that have one
                for each frame in the first, the middle and the last episode, as LeRobot's loader.

        Returns:
            A view. A tensor NAME with n times has arrays of shape (n, ...), and NAME_is_pad has
            bools of shape (n,). An entry beyond an end of the episode is the first or last one, and
            NAME_is_pad is True there. Videos have uint8 frames (height, width, 3) in RGB.
            `frame_index` is the frame, an int64 number, unless the dataset has such a tensor.

        Raises:
            NotFoundError: there is no such tensor.
            InvalidArgumentError: a time is no multiple of 1 / fps; tensors of a row differ in
                length; a video has fewer frames, or shows them at other times; fps is not known.

        Example:
            view = ds.windows({"camera": [-0.1, 0], "action": [0, 0.1, 0.2], "state": 0}, fps=10)
            for batch in view.pytorch(batch_size=64, shuffle=True):
                policy(batch["camera"], batch["action"], batch["action_is_pad"], batch["state"])
        """
        whole("make windows", "step", step, least=1)
        if not isinstance(delta_timestamps, Mapping):
            raise InvalidArgumentError(
                f"make windows: delta_timestamps is a {type(delta_timestamps).__name__}, want a dict of times by tensor"
            )
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < float("inf"):
            raise InvalidArgumentError(
                f"make windows: tolerance is {tolerance!r}, want seconds, a number of at least 0"
            )
        check_choice("make windows", "others", others, ("episode", "frame"))
        if fps is None:
            fps = (self._source.pinned().view().describe()["info"] or {}).get("fps")
            if fps is None:
                raise InvalidArgumentError('make windows: give fps, since the dataset has no info "fps"')
        options = {"fps": rate("make windows", fps, optional=False), "step": step, "tolerance": float(tolerance)}
        tensors = [seconds(name, times) for name, times in delta_timestamps.items()]
        if others == "frame":
            tensors += [
                seconds(name, 0) for name in frame_tensors(self._source.pinned(), {**options, "tensors": tensors})
            ]
        return self._clips({**options, "tensors": tensors})

    @overload
    def split(
        self, fractions: Sequence[float] | Sequence[int], *, seed: int | None = 0, stratify: str | None = None
    ) -> list[View]: ...

    @overload
    def split(self, fractions: Sequence[str]) -> list[View]: ...

    @overload
    def split(
        self, fractions: Mapping[str, float] | Mapping[str, int], *, seed: int | None = 0, stratify: str | None = None
    ) -> dict[str, View]: ...

    @checks_keywords
    def split(self, fractions: Any, *, seed: int | None = 0, stratify: str | None = None) -> Any:
        """Returns views of distinct rows, drawn at random, one for each fraction or count.

        Args:
            fractions: positive floats of sum <= 1, or ints, the numbers of rows. Rows beyond their
                sum are in no view. A dict has them by name. [1] is a fraction. Names alone stand
                for saved views, such as the splits of `deeplake create`: their queries are asked
                of these rows.
            seed: the seed of the draw, which is the same on every machine. None takes the rows in
                order.
            stratify: a tensor of class labels, integers, bools or text. Each view then has its
                share of the rows of each value, rounded up or down. Holes count as one value.

        Returns:
            A list of views, for a dict a dict. Each view keeps the order of this one.

        Raises:
            InvalidArgumentError: a fraction or count is not positive, or they sum to too much.
            NotFoundError: no view is saved under a name.
            TensorTypeError: `stratify` names a tensor of other values.

        Example:
            parts = ds.split({"train": 0.8, "val": 0.1, "test": 0.1}, seed=7, stratify="labels")
            train, val = ds.split(["train", "val"])  # after deeplake create URI from-FOLDER
        """
        if isinstance(fractions, list | tuple) and fractions and all(isinstance(name, str) for name in fractions):
            if stratify is not None:
                raise InvalidArgumentError(
                    f'split: stratify is "{stratify}", and saved views are not drawn; leave it out'
                )
            texts = saved_queries(self._source.pinned(), fractions)
            return [self._asked(text, "split by saved views") for text in texts]
        named = isinstance(fractions, Mapping)
        fixed = self._select(range(self._source.pinned().length()))
        ends = ends_of(list(fractions.values()) if named else fractions, len(fixed))
        views = [fixed._select(rows) for rows in parts_of(fixed._source, ends, seed, stratify)]
        return dict(zip(fractions, views, strict=True)) if named else views

    @checks_keywords
    def to_pyarrow_dataset(self, *, tensors: Sequence[str] | None = None) -> Any:
        """Returns the rows as a `pyarrow.dataset.Dataset`, for engines that push down columns and
        filters: DuckDB, pyarrow. Columns that they do not name are not read.

        Conditions on integers and texts become a query of ours first, which prunes chunks by their
        bounds. pyarrow checks the filter again.

        Args:
            tensors: names of tensors; None takes all but pictures.

        Raises:
            UnsupportedError: pyarrow is not installed, or Arrow has no type for a tensor.

        Example:
            pets = ds.to_pyarrow_dataset()
            duckdb.sql("SELECT count(*) FROM pets WHERE id > 5")
        """
        from deeplake._hosts.scanning import to_pyarrow_dataset

        return to_pyarrow_dataset(self._select(range(self._source.pinned().length())), tensors)

    @checks_keywords
    def to_polars(self, *, tensors: Sequence[str] | None = None, lazy: bool = False) -> Any:
        """Returns the rows as a `polars.DataFrame`, or as a `polars.LazyFrame`, which reads the
        columns and the number of rows that its query needs.

        Args:
            tensors: names of tensors; None takes all but pictures.
            lazy: return a LazyFrame. Its batches are filtered one by one.

        Raises:
            UnsupportedError: polars or pyarrow is not installed, or Arrow has no type for a tensor.

        Example:
            ds.to_polars(lazy=True).filter(pl.col("id") > 5).select("text").collect()
        """
        from deeplake._hosts.scanning import to_lazy_frame

        check_flag("to_polars", "lazy", lazy)
        frame = to_lazy_frame(self._select(range(self._source.pinned().length())), tensors)
        return frame if lazy else frame.collect()

    @checks_keywords
    def to_ray(self, *, tensors: Sequence[str] | None = None, override_num_blocks: int | None = None) -> Any:
        """Returns the rows as a `ray.data.Dataset`, whose tasks each open a part of them.
        `deeplake.ray.read` has more options, and says what the columns are.

        Args:
            tensors: names of tensors; None takes all but pictures that no query names.
            override_num_blocks: the number of tasks; None lets Ray choose.

        Raises:
            UnsupportedError: Ray is not installed, rows are not committed or in mem://, a query
                computes or renames columns, or Arrow has no type for a tensor.

        Example:
            ds[:1000].to_ray(tensors=["image", "label"]).map_batches(embed, batch_format="numpy")
        """
        package("convert to Ray", "ray.data", 'pip install "ray[data]"')
        from deeplake._engines.ray_read import rows_of

        options = {"override_num_blocks": override_num_blocks}
        return rows_of(self._source.pinned(), None, (), tensors, options)

    def _asked(self, text: str, called: str) -> View:
        """Runs a query that another method makes, whose name is that of errors."""
        return self.query(text)

    def _select(self, rows: Rows) -> View:
        raise NotImplementedError

    def _clips(self, options: dict[str, Any]) -> ClipView:
        raise NotImplementedError

    if TYPE_CHECKING:

        def query(self, tql: str, /) -> View: ...


def saved_queries(pinned: Pinned, names: Sequence[str]) -> list[str]:
    """Returns the queries of saved views of the dataset, which must have no parameters."""
    from deeplake._query.saved import saved_views

    version = pinned.version
    handle = version.handle() or open_native(version.uri, version.storage)
    saved = {view.name: view for view in saved_views(handle)}
    texts = []
    for name in names:
        view = saved.get(name)
        if view is None:
            there = f"the saved views are {quoted(saved)}" if saved else "no views are saved"
            raise NotFoundError(f'split "{pinned.uri}": there is no saved view "{name}"; {there}{suggest(name, saved)}')
        if not view.query or view._about["params"]:
            raise InvalidArgumentError(
                f'split "{pinned.uri}": view "{name}" is saved by its rows or with parameters; load_view("{name}") '
                "gives its rows as they were saved"
            )
        texts.append(view.query)
    return texts


def columns(source: Source, names: Sequence[str]) -> str:
    """Returns the query for tensors by name, where the name of a group stands for all in it.

    Raises:
        NotFoundError: a tensor does not exist.
        InvalidArgumentError: a tensor is named twice.
    """
    known = source.names()
    chosen: list[str] = []
    for name in names:
        inside = [name] if name in known else [other for other in known if other.startswith(f"{name}/")]
        if not inside:
            source.require(name)
            raise NotFoundError(f'"{source.uri}": there is no tensor "{name}"')
        chosen += inside
    if twice := next((name for name in chosen if chosen.count(name) > 1), None):
        raise InvalidArgumentError(f'select tensors: "{twice}" is named twice; name each tensor once')
    doubled = (name.replace('"', '""') for name in chosen)
    return "SELECT " + ", ".join(f'"{name}"' for name in doubled)
