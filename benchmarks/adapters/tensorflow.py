"""tf.data over TFRecord files; batches go to torch without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters import crops
from adapters.base import CORES, SHARD, WINDOW, Adapter, Epoch, Row


class TensorFlow(Adapter):
    packages = ("tensorflow",)
    workers = tuple(sorted({0, CORES, 2 * CORES}))  # parallel calls; 0: AUTOTUNE decides

    def __init__(self, cache: bool = False) -> None:
        """With `cache` it keeps decoded images in memory."""
        self._cache = cache

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import tensorflow as tf

        def numbers(value: int) -> Any:
            return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

        out, left, shard = None, 0, 0
        for image, label, number in rows:
            if left <= 0:
                if out is not None:
                    out.close()
                out, left, shard = tf.io.TFRecordWriter(str(folder / f"{shard:05d}.tfrecord")), SHARD, shard + 1
            feature = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                "label": numbers(label),
                "row": numbers(number),
            }
            out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
            left -= len(image)
        if out is not None:
            out.close()

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import tensorflow as tf

        with tf.io.TFRecordWriter(str(folder / "arrays.tfrecord")) as out:
            for array in arrays:
                # a record of bytes, without the Example that would copy it twice
                out.write(array.tobytes())

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import tensorflow as tf
        import torch

        wanted = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
            "row": tf.io.FixedLenFeature([], tf.int64),
        }

        def decoded(record: Any) -> Any:
            found = tf.io.parse_single_example(record, wanted)
            if self.side:
                image = _cropped(found["image"], self.side)
            else:
                image = tf.io.decode_jpeg(found["image"], channels=3, dct_method="INTEGER_ACCURATE")
            return image, found["label"], found["row"]

        files = sorted(str(path) for path in Path(uri).glob("*.tfrecord"))
        # AUTOTUNE needs some seconds of every epoch to find its numbers: longer than an epoch here.
        parallel = workers or tf.data.AUTOTUNE
        dataset = (
            tf.data.Dataset.from_tensor_slices(files)
            .shuffle(len(files))
            .interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
        )
        if not self._cache:
            dataset = dataset.shuffle(WINDOW)
        dataset = dataset.map(decoded, num_parallel_calls=parallel, deterministic=False)
        if self._cache:
            dataset = dataset.cache().shuffle(WINDOW)
        dataset = dataset.batch(batch_size).prefetch(2 if workers else tf.data.AUTOTUNE)

        def epoch() -> Iterator[Any]:
            for batch in dataset:
                yield tuple(torch.from_dlpack(tf.experimental.dlpack.to_dlpack(part)) for part in batch)

        return epoch


def _cropped(file: Any, side: int) -> Any:
    """A random crop as in its recipe for ResNet: only the crop is decoded."""
    import tensorflow as tf

    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(file),
        tf.zeros([1, 0, 4]),
        min_object_covered=0.0,
        aspect_ratio_range=crops.RATIO,
        area_range=crops.AREA,
        max_attempts=crops.ATTEMPTS,
        use_image_if_no_bounding_boxes=True,
    )
    (top, left, _), (high, wide, _) = tf.unstack(begin), tf.unstack(size)
    where = tf.stack([top, left, high, wide])
    image = tf.image.decode_and_crop_jpeg(file, where, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.image.random_flip_left_right(tf.image.resize(image, [side, side]))
    image.set_shape([side, side, 3])
    return tf.cast(tf.round(image), tf.uint8)
