"""A step of the core, and the one that moves annotations with their image, of
`deeplake.transforms`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._names import suggest

Names = str | Sequence[str] | None


class Native:
    """A step that the core runs. Call it with one picture to look at its result."""

    _given: dict[str, Any]

    def __call__(self, picture: Any, *, seed: int = 0, epoch: int = 0, index: int = 0, name: str = "images") -> Any:
        """Returns the transformed picture, a NumPy array.

        It is the sample that a loader delivers with `seed`, in `epoch`, of row `index`, from a
        tensor called `name` that has this step alone. With `fast=True` the pixels differ from a
        loader's: the JPEG decoder does not take part here.

        Args:
            picture: uint8 of shape (height, width, channels).
            index: the number of the row in the dataset.

        Raises:
            InvalidArgumentError: a parameter of the step, or an argument, is wrong.
            TensorTypeError: the step does not take pictures of this shape or dtype.
        """
        from deeplake._load.single import transformed

        step = {"transform": {name: [self.spec()]}}
        return transformed({name: picture}, step, seed=seed, epoch=epoch, index=index)[name]

    def spec(self) -> dict[str, Any]:
        """Returns the step in the form that the core reads."""
        return {"op": type(self).__name__, **{name: _plain(self, name, value) for name, value in self._given.items()}}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"


def _plain(step: Native, name: str, value: Any) -> Any:
    """Returns a parameter in the types of JSON."""
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "tolist"):  # NumPy, torch
        value = value.tolist()
    if isinstance(value, Sequence):
        return [_plain(step, name, item) for item in value]
    if hasattr(value, "__index__"):
        return int(value)
    try:
        number = float(value)
    except (TypeError, ValueError) as err:
        raise InvalidArgumentError(f"{type(step).__name__}: {name} is {value!r}, want numbers") from err
    if not math.isfinite(number):
        raise InvalidArgumentError(f"{type(step).__name__}: {name} is {number}, want finite numbers")
    return number


def _names(what: str, given: Names) -> list[str]:
    names = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"Joint: {what} is {given!r}, want the name of a tensor, or a list of names")
    return list(names)


def _least(what: str, given: float | None) -> float:
    """Returns a least size of boxes; the default is that of torchvision's SanitizeBoundingBoxes."""
    if given is None:
        return 1.0
    if isinstance(given, bool | str) or not hasattr(given, "__float__") or not 0 <= float(given) < math.inf:
        raise InvalidArgumentError(f"Joint: {what} is {given!r}, want a number of pixels of at least 0")
    return float(given)


def _named(spec: Mapping[str, Any]) -> list[str]:
    several = (name for part in ("masks", "keypoints", "labels", "depth") for name in spec[part])
    return [spec["image"], spec["boxes"], *several]


class Joint:
    """Transforms an image together with its annotations, as torchvision does with tv_tensors.

    Args:
        image: the tensor of the images. All names must be among the loaded tensors.
        boxes: a tensor of boxes, shape (boxes, 4). Each step clips them to the image. Without
            `labels`, `min_size` and `min_area`, a box outside of the image keeps its place and has
            no area.
        labels: the tensors with one entry for each box on their first axis: class labels, scores.
            With it, boxes that the steps leave too small are dropped, with these entries, with
            their masks of shape (height, width, boxes), with the columns of keypoints_coco, and
            with points of shape (boxes, points, 2). `labels=[]` names no tensor.
        masks: tensors of masks, shape (height, width) or (height, width, masks), of any dtype.
            Resizing takes the nearest element; padding is 0. Masks without a third axis are of the
            whole image.
        depth: tensors of one value or several for each pixel, such as depth maps in uint16. They
            move as masks do and keep their dtype; none belongs to a box.
        keypoints: tensors of points, shape (points, 2) or more, whose last axis begins with x and
            y; or of htype keypoints_coco. Points are not clipped. COCO keypoints outside get
            visibility 0.
        ops: the steps, native ones only.
        min_size: the least width and height of a box after all steps, in pixels; 1 if boxes are
            dropped.
        min_area: the least area of a box, in square pixels; 1 if boxes are dropped.
        box_mode: "LTRB", "LTWH" or "CCWH"; torchvision's "XYXY", "XYWH" and "CXCYWH" mean the same.
            None takes "coords" of the tensor's info, {"mode": "LTWH", "type": "pixel"}, or else
            "LTRB" in pixels. Boxes of type "fractional" are shares of the image's width and height.

    `labels`, `masks`, `depth` and `keypoints` are names, or lists of names.

    Example:
        T.Joint(image="images", boxes="boxes", labels="labels",
                ops=[T.RandomResizedCrop(640), T.HorizontalFlip()])
    """

    def __init__(
        self,
        *,
        image: str,
        boxes: str | None = None,
        masks: Names = None,
        keypoints: Names = None,
        ops: Sequence[Native],
        box_mode: str | None = None,
        labels: Names = None,
        depth: Names = None,
        min_size: float | None = None,
        min_area: float | None = None,
    ) -> None:
        for what, name in (("image", image), ("boxes", boxes)):
            if not isinstance(name, str) and (name is not None or what == "image"):
                raise InvalidArgumentError(f"Joint: {what} is {name!r}, want the name of a tensor")
        several = {
            "masks": _names("masks", masks), "keypoints": _names("keypoints", keypoints),
            "labels": _names("labels", labels), "depth": _names("depth", depth),
        }  # fmt: skip
        drops = labels is not None or min_size is not None or min_area is not None
        if drops and boxes is None:
            raise InvalidArgumentError(
                "Joint: labels, min_size and min_area are of boxes; give the tensor of boxes too"
            )
        steps = list(ops) if isinstance(ops, Sequence) else [ops]
        for step in steps:
            if not isinstance(step, Native):
                raise InvalidArgumentError(
                    f"Joint: {step!r} among ops is not a native transform; give Python callables after it, "
                    f'transform=[Joint(...), {{"{image}": callable}}]'
                )
        self.names = [
            image,
            *([boxes] if boxes is not None else []),
            *(name for each in several.values() for name in each),
        ]
        self._spec = {
            "image": image, "boxes": boxes or "", **several, "box_mode": box_mode or "",
            "least": {"size": _least("min_size", min_size), "area": _least("min_area", min_area)} if drops else None,
            "ops": [step.spec() for step in steps],
        }  # fmt: skip
        self._steps = steps

    def spec(self) -> dict[str, Any]:
        """Returns the group in the form that the core reads."""
        return self._spec

    def __call__(
        self, row: Mapping[str, Any], *, seed: int = 0, epoch: int = 0, index: int | None = None
    ) -> dict[str, Any]:
        """Returns the transformed row, a dict of NumPy arrays; other entries of the row stay as
        they are.

        The arrays are those that a loader delivers with `seed`, in `epoch`, of row `index`, but for
        steps with `fast=True`. A row of a dataset brings its number, and the htypes and infos of
        its tensors. In another mapping, boxes are LTRB in pixels unless `box_mode` says otherwise,
        and keypoints are plain points.

        Args:
            row: a sample by the name of each tensor: `ds[5]`, or any dict.
            index: the number of the row in the dataset; None: that of `row`, or 0.
        """
        from deeplake._load.single import transformed
        from deeplake._rows.row import Row, about

        for name in self.names:
            if name not in row:
                raise NotFoundError(f'Joint: the row has no "{name}" (it has {sorted(row)}){suggest(name, row)}')
        known: dict[str, Any] = {}
        if isinstance(row, Row):
            known = {name: about(row, name) for name in self.names}
            if index is None:
                index = row.index
        given = {name: row[name] for name in self.names if row[name] is not None}
        spec: dict[str, Any] = dict(self._spec)
        for part in ("masks", "keypoints", "labels", "depth"):
            spec[part] = [name for name in spec[part] if name in given]
        if spec["boxes"] and spec["boxes"] not in given:
            spec |= {"boxes": "", "labels": [], "least": None}
        given = {name: value for name, value in given.items() if name in _named(spec)}
        made = transformed(given, {"together": [spec]}, seed=seed, epoch=epoch, index=index or 0, about=known)
        return {**row, **made}

    def __repr__(self) -> str:
        return f"Joint({', '.join(self.names)}: {self._steps!r})"
