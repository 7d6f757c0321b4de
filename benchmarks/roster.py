"""The other loaders: the name in the tables, the environment, the adapter, and the abilities of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    local: bool = True  # it is in the tables of local epochs, or only in those of object stores
    crop: bool = False  # it is in the tables of random crops
    fetch: bool = False  # it reads samples at random
    arrays: bool = True  # it can be asked to write arrays one by one
    not_remote: str = ""  # why it is not in the tables of object stores; empty: it is
    note: str = ""


_NO_STORE = "reads local files only"
FFCV_RAW = Entrant(
    "FFCV raw",
    "ffcv",
    "ffcv",
    "FFCV",
    {"mode": "raw"},
    arrays=False,
    not_remote=_NO_STORE,
    note="decoded when it was written",
)
ENTRANTS = (
    *(
        Entrant(
            f"torch + {decoder}",
            HERE,
            "files",
            "Files",
            {"decoder": decoder},
            reads_files=True,
            crop=True,
            arrays=False,
            not_remote="has no object store; a request for each file would be the user's own code",
        )
        for decoder in ("PIL", "torchvision", "OpenCV")
    ),
    Entrant("FFCV", "ffcv", "ffcv", "FFCV", {"mode": "jpg"}, crop=True, not_remote=_NO_STORE, note="fast DCT"),
    FFCV_RAW,
    Entrant("WebDataset", "webdataset", "webdataset", "WebDataset", note="shuffles in a buffer"),
    Entrant("Squirrel", "squirrel", "squirrel", "Squirrel", note="shuffles in a buffer"),
    Entrant("MosaicML Streaming", "streaming", "streaming", "Streaming", crop=True, fetch=True),
    Entrant("LitData", "litdata", "litdata", "LitData", crop=True, fetch=True),
    Entrant("Deep Lake 3", "deeplake3", "deeplake3", "DeepLake3", fetch=True, note="shuffles in a buffer"),
    Entrant(
        "Deep Lake 4",
        "deeplake4",
        "deeplake4",
        "DeepLake4",
        {"way": "columns"},
        fetch=True,
        note="files of a batch from its column, decoded by OpenCV",
    ),
    Entrant(
        "Deep Lake 4 in DataLoader",
        "deeplake4",
        "deeplake4",
        "DeepLake4",
        {"way": "pytorch"},
        arrays=False,
    ),
    Entrant(
        "SPDL + OpenCV",
        "spdl",
        "spdl",
        "SPDL",
        reads_files=True,
        arrays=False,
        crop=True,
        not_remote="has no object store",
    ),
    Entrant(
        "DALI",
        "dali",
        "dali",
        "DALI",
        reads_files=True,
        arrays=False,
        crop=True,
        not_remote="its file reader takes s3://, a request for each file; not tried",
        note="without a GPU; shuffles in a buffer",
    ),
    Entrant(
        "tf.data",
        HERE,
        "tensorflow",
        "TensorFlow",
        crop=True,
        not_remote="its package has no S3; tensorflow-io, which had, has no build for this TensorFlow",
        note="shuffles in a buffer",
    ),
    Entrant(
        "Grain + ArrayRecord",
        "grain",
        "grain",
        "Grain",
        fetch=True,
        not_remote="local paths only; its guides mount a bucket by FUSE",
    ),
    Entrant(
        "Hugging Face datasets",
        "huggingface",
        "huggingface",
        "HuggingFace",
        fetch=True,
        not_remote="its Arrow files are mapped into memory, hence local",
    ),
    Entrant(
        "Hugging Face streaming",
        "huggingface",
        "huggingface",
        "HuggingFaceStream",
        arrays=False,
        local=False,
        note="Parquet; shuffles in a buffer",
    ),
    Entrant("Lance", "lance", "lance", "Lance", fetch=True),
    Entrant("Parquet", "parquet", "parquet", "Parquet", epoch=False),
    *(
        Entrant(name, HERE, "tensorstore", "TensorStore", {"driver": driver}, epoch=False)
        for name, driver in (("Zarr 2", "zarr"), ("Zarr 3", "zarr3"), ("N5", "n5"))
    ),
)
PLAIN = (  # the limit first
    Entrant("pread, ranged GET", "webdataset", "plain", "Packed", fetch=True, note="one file, index in memory"),
    Entrant(
        "pread, a thread for each core",
        "webdataset",
        "plain",
        "Packed",
        {"threads": True},
        fetch=True,
        not_remote="the same as pread, ranged GET",
    ),
    Entrant("plain files", "webdataset", "plain", "PlainFiles", fetch=True),
)
FAST = Entrant("deeplake, fast=True", HERE, "ours", "Ours", {"fast": True}, note="shrinks in the inverse DCT")
# Second epochs of loaders that decode once.
DECODED = (
    FFCV_RAW,
    Entrant("deeplake, pixels stored", HERE, "ours", "Ours", {"decoded": True}, note="decoded when it was written"),
    Entrant("tf.data, cache()", HERE, "tensorflow", "TensorFlow", {"cache": True}, note="shuffles in a buffer"),
)
# Loaders that store pixels.
RAW = (
    replace(FFCV_RAW, note=""),  # all of these store pixels
    Entrant("torch + memmap", HERE, "memmap", "Memmap", note="one .npy file"),
    Entrant("MosaicML Streaming", "streaming", "streaming", "Streaming", {"decoded": True}),
    Entrant("LitData", "litdata", "litdata", "LitData", {"decoded": True}),
    Entrant("Deep Lake 3", "deeplake3", "deeplake3", "DeepLake3", {"decoded": True}, note="shuffles in a buffer"),
)
