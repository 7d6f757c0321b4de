"""Transforms that the core runs between the decoder and the batch, without Python code per sample.

    from deeplake import transforms as T

    ds.pytorch(batch_size=256, shuffle=True, transform={"images": [
        T.RandomResizedCrop(224), T.HorizontalFlip(),
        T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)), T.CHW(),
    ]})

Names, parameters and defaults are those of `torchvision.transforms.v2`. Pictures are uint8 of shape
(height, width, channels); a JPEG is decoded only as far as the crop needs it. Every draw is a
function of (seed, epoch, row) and the name of the tensor: threads, ranks and batches do not change
it. A loader refuses wrong parameters when it is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from deeplake._errors import InvalidArgumentError

__all__ = [
    "CHW",
    "CenterCrop",
    "ColorJitter",
    "HorizontalFlip",
    "Joint",
    "Lambda",
    "Native",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToFloat",
    "VerticalFlip",
]

Size = int | Sequence[int]
Numbers = float | Sequence[float]


class Native:
    """A step that the core runs. It describes the step and cannot be called."""

    _given: dict[str, Any]

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


class RandomResizedCrop(Native):
    """Crops a random area with a random aspect ratio, and resizes it to `size`.

    The draws are torchvision's, after Szegedy et al., "Going deeper with convolutions" (CVPR 2015).

    Args:
        size: height and width of the result in pixels, or one int for both.
        scale: least and most area of the crop, as a share of the picture's area.
        ratio: least and most width / height of the crop. Its logarithm is drawn uniformly.
        interpolation: "nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming" or
            "lanczos". Shrinking is antialiased. The first two compute as torch does, the others as
            Pillow does.
        fast: let the JPEG decoder shrink first if the crop is at least twice the result, and use
            its faster inverse DCT. Pixels then differ; see docs/transforms.md.
    """

    def __init__(
        self,
        size: Size,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: str = "bilinear",
        *,
        fast: bool = False,
    ) -> None:
        self._given = {"size": size, "scale": scale, "ratio": ratio, "interpolation": interpolation, "fast": fast}


class Resize(Native):
    """Resizes the whole picture.

    Args:
        size: (height, width) in pixels, or one int for the shorter side, which keeps the aspect
            ratio.
        interpolation: as in `RandomResizedCrop`.
        max_size: the most pixels of the longer side, if `size` is one int.
        fast: as in `RandomResizedCrop`.
    """

    def __init__(
        self, size: Size, interpolation: str = "bilinear", max_size: int | None = None, *, fast: bool = False
    ) -> None:
        self._given = {"size": size, "interpolation": interpolation, "max_size": max_size, "fast": fast}


class CenterCrop(Native):
    """Crops the middle of the picture. A smaller picture is padded with 0.

    Args:
        size: (height, width) in pixels, or one int for both.
    """

    def __init__(self, size: Size) -> None:
        self._given = {"size": size}


class RandomCrop(Native):
    """Crops a part of the picture at a random position.

    A picture smaller than `size` is an error, unless `pad_if_needed`.

    Args:
        size: (height, width) in pixels, or one int for both.
        padding: pixels to add first: one int, (left/right, top/bottom) or (left, top, right,
            bottom).
        pad_if_needed: pad a picture that is smaller than `size`.
        fill: 0 to 255, or one number for each channel, for `padding_mode="constant"`.
        padding_mode: "constant", "edge", "reflect" or "symmetric".
    """

    def __init__(
        self,
        size: Size,
        padding: Size | None = None,
        pad_if_needed: bool = False,
        fill: Numbers = 0,
        padding_mode: str = "constant",
    ) -> None:
        self._given = {
            "size": size, "padding": padding, "pad_if_needed": pad_if_needed,
            "fill": fill, "padding_mode": padding_mode,
        }  # fmt: skip


class Pad(Native):
    """Adds a border to the picture.

    Args:
        padding, fill, padding_mode: as in `RandomCrop`.
    """

    def __init__(self, padding: Size, fill: Numbers = 0, padding_mode: str = "constant") -> None:
        self._given = {"padding": padding, "fill": fill, "padding_mode": padding_mode}


class HorizontalFlip(Native):
    """Swaps left and right, with probability `p`. `RandomHorizontalFlip` is another name."""

    def __init__(self, p: float = 0.5) -> None:
        self._given = {"p": p}


class VerticalFlip(Native):
    """Swaps top and bottom, with probability `p`. `RandomVerticalFlip` is another name."""

    def __init__(self, p: float = 0.5) -> None:
        self._given = {"p": p}


RandomHorizontalFlip = HorizontalFlip
RandomVerticalFlip = VerticalFlip


class ColorJitter(Native):
    """Changes brightness, contrast and saturation by random factors in random order.

    Pictures have 1 or 3 channels.

    Args:
        brightness: the factor is drawn uniformly from [max(0, 1 - brightness), 1 + brightness], or
            from the (least, most) given.
        contrast: as brightness.
        saturation: as brightness.
    """

    def __init__(
        self, brightness: Numbers | None = None, contrast: Numbers | None = None, saturation: Numbers | None = None
    ) -> None:
        self._given = {"brightness": brightness, "contrast": contrast, "saturation": saturation}


class Normalize(Native):
    """Computes float32 (value / 255 - mean) / std, bit for bit as torchvision's `ToDtype(float32,
    scale=True)` and `Normalize` do.

    Args:
        mean: one number for each channel, or one for all, on the scale of 0 to 1.
        std: the same.
    """

    def __init__(self, mean: Numbers, std: Numbers) -> None:
        self._given = {"mean": mean, "std": std}


class ToFloat(Native):
    """Converts to floating point numbers, from 0 to 1 by default.

    Args:
        bits: 32 (float32), 16 (float16) or "bf16" (bfloat16). After `Normalize`, which computes in
            float32, numbers are rounded once.
        scale: divide by 255.
    """

    def __init__(self, bits: int | str = 32, *, scale: bool = True) -> None:
        self._given = {"bits": bits, "scale": scale}

    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "bits": str(self._given["bits"])}


class CHW(Native):
    """Moves channels first: shape (channels, height, width), the layout of torch's layers."""

    def __init__(self) -> None:
        self._given = {}


class Lambda:
    """Calls a Python function on each sample, after the native steps.

    Args:
        lambd: takes and returns a NumPy array. It runs in the thread that iterates.
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise InvalidArgumentError(f"Lambda: {lambd!r} is not callable")
        self.lambd = lambd

    def __call__(self, sample: Any) -> Any:
        return self.lambd(sample)

    def __repr__(self) -> str:
        return f"Lambda({self.lambd!r})"


class Joint:
    """Transforms an image together with its annotations, as torchvision does with tv_tensors.

    Args:
        image: the tensor of the images. All names must be among the loaded tensors.
        boxes: a tensor of boxes, shape (boxes, 4). Each step clips them to the image. A box outside
            of the image keeps its place and has no area.
        masks: a tensor of masks, shape (height, width) or (height, width, masks), of any dtype.
            Resizing takes the nearest element; padding is 0.
        keypoints: a tensor of points, shape (points, 2) or more, whose first two numbers are x and
            y; or of htype keypoints_coco. Points are not clipped. COCO keypoints outside get
            visibility 0.
        ops: the steps, native ones only.
        box_mode: "LTRB", "LTWH" or "CCWH"; torchvision's "XYXY", "XYWH" and "CXCYWH" mean the same.
            None takes "coords" of the tensor's info, {"mode": "LTWH", "type": "pixel"}, or else
            "LTRB" in pixels. Boxes of type "fractional" are shares of the image's width and height.

    Example:
        T.Joint(image="images", boxes="boxes", ops=[T.RandomResizedCrop(640), T.HorizontalFlip()])
    """

    def __init__(
        self,
        *,
        image: str,
        boxes: str | None = None,
        masks: str | None = None,
        keypoints: str | None = None,
        ops: Sequence[Native],
        box_mode: str | None = None,
    ) -> None:
        for what, name in (("image", image), ("boxes", boxes), ("masks", masks), ("keypoints", keypoints)):
            if not isinstance(name, str) and (name is not None or what == "image"):
                raise InvalidArgumentError(f"Joint: {what} is {name!r}, want the name of a tensor")
        steps = list(ops) if isinstance(ops, Sequence) else [ops]
        for step in steps:
            if not isinstance(step, Native):
                raise InvalidArgumentError(
                    f"Joint: {step!r} among ops is not a native transform; give Python callables after it, "
                    f'transform=[Joint(...), {{"{image}": callable}}]'
                )
        self.names = [name for name in (image, boxes, masks, keypoints) if name is not None]
        self._spec = {
            "image": image, "boxes": boxes or "", "masks": masks or "", "keypoints": keypoints or "",
            "box_mode": box_mode or "", "ops": [step.spec() for step in steps],
        }  # fmt: skip
        self._steps = steps

    def spec(self) -> dict[str, Any]:
        """Returns the group in the form that the core reads."""
        return self._spec

    def __repr__(self) -> str:
        return f"Joint({', '.join(self.names)}: {self._steps!r})"
