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

from collections.abc import Callable, Sequence
from typing import Any

from deeplake._errors import InvalidArgumentError
from deeplake._joint import Joint, Native

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
