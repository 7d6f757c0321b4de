"""Pillow's pictures on their way in and out. docs/htypes.md says what each mode becomes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake import _native
from deeplake._errors import Error, TensorTypeError

# The mode with the colours that a picture shows, for modes that store others.
_COLOURS = {"1": "L", "PA": "RGBA", "La": "LA", "RGBa": "RGBA", "RGBX": "RGB", "YCbCr": "RGB", "HSV": "RGB"}
_ORIENTATION = 0x0112  # the tag of Exif
_XMP = ("xmp", "XML:com.adobe.xmp")  # its place in the info of Pillow
_MASKS = ("binary_mask", "segment_mask", "instance_label")


def pixels(image: Any, htype: str) -> npt.NDArray[Any]:
    """Returns a picture of Pillow as the array that a file of it decodes to.

    Args:
        image: a `PIL.Image.Image`.
        htype: of the tensor. Masks get the numbers of a palette, all others its colours. "+exif"
            behind it turns the picture as its Exif data says.
    """
    htype, _, exif = htype.partition("+")
    if htype in _MASKS:
        if image.mode not in ("1", "L", "P", "I", "I;16", "I;16B", "I;16L"):
            raise TensorTypeError(
                f"picture has the mode {image.mode}, whose colours are no numbers of masks; want one of 1, L, P, I;16"
            )
        return _numbers(image)
    image = coloured(upright(image) if exif else image)
    if htype == "image.rgb" and image.mode in ("L", "LA", "RGBA", "CMYK"):
        image = image.convert("RGB")
    elif htype == "image.gray" and image.mode in ("LA", "RGB", "RGBA", "CMYK"):
        image = (image.convert("RGB") if image.mode == "CMYK" else image).convert("L")
    if image.mode == "LAB":
        raise TensorTypeError("picture has the mode LAB; convert it to RGB, as with PIL.ImageCms")
    return _numbers(image)


def upright(image: Any) -> Any:
    """Returns a picture turned as its Exif data says, without the tag. As in the core, XMP does not
    count.
    """
    import PIL.Image

    try:
        number = image.getexif().get(_ORIENTATION)
        stored = PIL.Image.Exif()
        stored.load(image.info.get("exif", b""))
    except Exception:  # damaged data turns nothing
        return image
    of_xmp = _ORIENTATION not in stored and any(b"tiff:Orientation" in _bytes(image.info.get(key)) for key in _XMP)
    return image if of_xmp else _turned(image, number)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else b""


def _turned(image: Any, number: Any) -> Any:
    """Returns a picture turned by the number of an orientation, 1 to 8, without the tag."""
    import PIL.ImageOps

    if number not in range(2, 9):
        return image
    image.getexif()[_ORIENTATION] = number  # Pillow takes some values for others
    return PIL.ImageOps.exif_transpose(image)


def shown(data: bytes, htype: str) -> Any:
    """Returns Pillow's picture of a file, with the channels that the array of it has. "+exif"
    behind the htype turns it.
    """
    import PIL.Image

    image = PIL.Image.open(io.BytesIO(data))
    image.load()  # here, where an error can name the row, not later in the hands of the user
    htype, _, exif = htype.partition("+")
    if exif:
        image = _as_core(image, data)
    image = coloured(image)
    want = {"image.rgb": "RGB", "image.gray": "L"}.get(htype.removeprefix("sequence[").removesuffix("]"))
    return image if want is None or image.mode.startswith("I") or image.mode == want else image.convert(want)


def _as_core(image: Any, data: bytes) -> Any:
    """Returns the picture of a file turned as the core turns it."""
    try:
        return _turned(image, _native.inspect(data)["orientation"])
    except Error:  # the core does not read this kind of file
        return upright(image)


def coloured(image: Any) -> Any:
    """Returns a picture with its colours: palettes and single bits become L, RGB or RGBA."""
    mode = image.mode
    if mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.convert(_COLOURS[mode]) if mode in _COLOURS else image


def _numbers(image: Any) -> npt.NDArray[Any]:
    array = np.asarray(image)
    if image.mode == "I" and array.size and array.min() >= 0 and array.max() <= 0xFFFF:
        return array.astype(np.uint16)  # Pillow's form of 16 bits in some files
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
