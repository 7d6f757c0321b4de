"""Who is measured against: the name in the tables, the environment, the adapter, and what it cannot do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from environments import HERE


@dataclass(frozen=True)
class Entrant:
    """A loader or format of another project."""

    name: str
    environment: str
    module: str  # of the package adapters
    factory: str
    options: dict[str, Any] = field(default_factory=dict)
    reads_files: bool = False  # it has no format: it reads the folder of JPEG files
    epoch: bool = True  # it delivers shuffled batches
    arrays: bool = True  # it can be asked to write arrays one by one
    not_remote: str = ""  # why it is not in the tables of object stores; empty: it is
    note: str = ""


_NO_STORE = "reads local files only"
ENTRANTS = (
    *(
        Entrant(
            f"torch + {decoder}",
            HERE,
            "files",
            "Files",
            {"decoder": decoder},
            reads_files=True,
            arrays=False,
            not_remote="has no object store; a request for each file would be the user's own code",
        )
        for decoder in ("PIL", "torchvision", "OpenCV")
    ),
    Entrant("FFCV", "ffcv", "ffcv", "FFCV", {"mode": "jpg"}, not_remote=_NO_STORE, note="fast DCT"),
    Entrant(
        "FFCV raw",
        "ffcv",
        "ffcv",
        "FFCV",
        {"mode": "raw"},
        arrays=False,
        not_remote=_NO_STORE,
        note="decoded when it was written",
    ),
    Entrant("WebDataset", "webdataset", "webdataset", "WebDataset", note="shuffles in a buffer"),
    Entrant("Squirrel", "squirrel", "squirrel", "Squirrel", note="shuffles in a buffer"),
    Entrant("MosaicML Streaming", "streaming", "streaming", "Streaming"),
    Entrant("LitData", "litdata", "litdata", "LitData"),
    Entrant("Deep Lake 3", "deeplake3", "deeplake3", "DeepLake3", note="shuffles in a buffer"),
    Entrant(
        "Deep Lake 4", "deeplake4", "deeplake4", "DeepLake4", {"way": "columns"}, note="its columns, a batch at once"
    ),
    Entrant(
        "Deep Lake 4 in DataLoader",
        "deeplake4",
        "deeplake4",
        "DeepLake4",
        {"way": "pytorch"},
        arrays=False,
    ),
    Entrant("SPDL + OpenCV", "spdl", "spdl", "SPDL", reads_files=True, arrays=False, not_remote="has no object store"),
    Entrant(
        "tf.data",
        HERE,
        "tensorflow",
        "TensorFlow",
        not_remote="its package has no S3; tensorflow-io, which had, has no build for this TensorFlow",
        note="shuffles in a buffer",
    ),
    Entrant(
        "Grain + ArrayRecord",
        "grain",
        "grain",
        "Grain",
        not_remote="local paths only; its guides mount a bucket by FUSE",
    ),
    Entrant(
        "Hugging Face datasets",
        "huggingface",
        "huggingface",
        "HuggingFace",
        not_remote="its Arrow files are mapped into memory, hence local",
    ),
    Entrant("Lance", "lance", "lance", "Lance"),
    Entrant("Parquet", "parquet", "parquet", "Parquet", epoch=False),
    *(
        Entrant(name, HERE, "tensorstore", "TensorStore", {"driver": driver}, epoch=False)
        for name, driver in (("Zarr 2", "zarr"), ("Zarr 3", "zarr3"), ("N5", "n5"))
    ),
)
