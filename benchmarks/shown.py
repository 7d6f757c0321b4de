"""The figures that others show of a peer: its documentation, or a run without our adapters.

A row is published if it comes near them. Otherwise our adapter may hold the peer back, and the row would mislead: it
goes, or EXPLAINED has the reason.
"""

from __future__ import annotations

NEAR = 2 / 3  # of the shown figure: gaps of a third mean little between two machines

_RUN = "an independent run on two cores"
# The rate of a peer as a part of the limit of its chapter, by chapter and entrant. The limits are
# libjpeg-turbo in C on all cores, and os.pread in Python.
SHOWN: dict[str, dict[str, tuple[float, str]]] = {
    "epoch-photos-q75": {
        "FFCV": (0.78, _RUN),
        "SPDL + OpenCV": (0.49, f"{_RUN} of 256 images a hop"),
        "torch + OpenCV": (0.44, _RUN),
        "torch + torchvision": (0.35, _RUN),
        "torch + PIL": (0.33, _RUN),
        "tf.data": (0.54, _RUN),
        "LitData": (0.45, _RUN),
        "Grain + ArrayRecord": (0.39, _RUN),
        "Squirrel": (0.29, _RUN),
        "WebDataset": (0.23, _RUN),
        "Deep Lake 4": (0.29, _RUN),
        "Deep Lake 4 in DataLoader": (0.26, f"{_RUN} on 5,000 images"),
        "MosaicML Streaming": (0.22, _RUN),
        "Deep Lake 3": (0.15, _RUN),
    },
    "epoch-noise-q75": {
        "FFCV": (0.89, _RUN),
        "torch + OpenCV": (0.59, _RUN),
        "WebDataset": (0.43, _RUN),
    },
    "crop-photos-q90": {
        "torch + OpenCV": (0.39, _RUN),
        "SPDL + OpenCV": (0.36, _RUN),
        "FFCV": (0.29, _RUN),
        "tf.data": (0.21, _RUN),
    },
    "random-photos-q75": {
        "plain files": (0.27, _RUN),
        "Deep Lake 4": (0.21, _RUN),
        "MosaicML Streaming": (0.13, _RUN),
        "Hugging Face datasets": (0.10, _RUN),
        "LitData": (0.078, _RUN),
        "Deep Lake 3": (0.07, _RUN),
        "Grain + ArrayRecord": (0.045, _RUN),
        "Lance": (0.013, _RUN),
    },
}
# Why a row stands although it misses the figure that others show, by chapter and entrant.
EXPLAINED: dict[str, dict[str, str]] = {}


def withdrawn(chapter: str, name: str, part: float) -> str:
    """Returns why a row must not be published, or nothing.

    Args:
        chapter: name of the chapter.
        name: of the entrant.
        part: its rate as a part of the limit of the chapter.
    """
    least, source = SHOWN.get(chapter, {}).get(name, (0.0, ""))
    if part >= NEAR * least or name in EXPLAINED.get(chapter, {}):
        return ""
    return f"withdrawn: {part:.2g} of the limit here, {least:.2g} in {source}, and no reason is known"
