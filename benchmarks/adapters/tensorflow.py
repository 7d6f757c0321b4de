"""tf.data over TFRecord files; batches go to torch without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import SHARD, WINDOW, Adapter, Epoch, Row


class TensorFlow(Adapter):
    packages = ("tensorflow",)
    workers = (0,)  # AUTOTUNE decides

    def write(self, place: Path, rows: Iterable[Row], count: int) -> None:
        import tensorflow as tf

        def numbers(value: int) -> Any:
            return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

        out, left, shard = None, 0, 0
        for image, label, number in rows:
            if left <= 0:
                if out is not None:
                    out.close()
                out, left, shard = tf.io.TFRecordWriter(str(place / f"{shard:05d}.tfrecord")), SHARD, shard + 1
            feature = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                "label": numbers(label),
                "row": numbers(number),
            }
            out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
            left -= len(image)
        if out is not None:
            out.close()

    def write_arrays(self, place: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import tensorflow as tf

        with tf.io.TFRecordWriter(str(place / "arrays.tfrecord")) as out:
            for array in arrays:
                out.write(array.tobytes())  # a record of bytes, without the Example that would copy it twice

    def open(self, place: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import tensorflow as tf
        import torch

        wanted = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
            "row": tf.io.FixedLenFeature([], tf.int64),
        }

        def decoded(record: Any) -> Any:
            found = tf.io.parse_single_example(record, wanted)
            image = tf.io.decode_jpeg(found["image"], channels=3, dct_method="INTEGER_ACCURATE")
            return image, found["label"], found["row"]

        files = sorted(str(path) for path in Path(place).glob("*.tfrecord"))
        dataset = (
            tf.data.Dataset.from_tensor_slices(files)
            .shuffle(len(files))
            .interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
            .shuffle(WINDOW)
            .map(decoded, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
            .batch(batch_size)
            .prefetch(tf.data.AUTOTUNE)
        )

        def epoch() -> Iterator[Any]:
            for batch in dataset:
                yield tuple(torch.from_dlpack(tf.experimental.dlpack.to_dlpack(part)) for part in batch)

        return epoch
