"""TensorFlow as a host, with the real package: types, forms, order, states, model.fit, and how it ends."""

from __future__ import annotations

import gc
import json
import pickle
import weakref

import deeplake
import numpy as np
import pytest
from conftest import encoded, host, picture

tf = host("tensorflow")

ROWS = 53


@pytest.fixture(scope="module")
def ds():
    schema = {
        "image": {"htype": "image", "compression": "jpeg"},
        "label": "class_label",
        "word": "text",
        "about": "json",
        "ragged": {"dtype": "float32"},
        "boxes": {"htype": "sequence[bbox]"},
        "tags": "sequence[text]",
        "half": {"dtype": "float16"},
    }
    with deeplake.create("mem://tensorflow", overwrite=True, schema=schema) as ds:
        rows = range(ROWS)
        ds.extend(
            {
                "image": [deeplake.read(encoded(picture(i))) for i in rows],
                "label": np.arange(ROWS) % 7,
                "word": [f"wörd {i}" for i in rows],
                "about": [{"row": i} for i in rows],
                "ragged": [np.full((i % 4 + 1, 2), i, np.float32) for i in rows],
                "boxes": [[np.full((k + 1, 4), i, np.float32) for k in range(i % 3)] for i in rows],
                "tags": [[f"{i}.{k}" for k in range(i % 3)] for i in rows],
                "half": np.ones((ROWS, 2), np.float16),
            }
        )
        ds.commit()
        yield ds


PLAIN = ("image", "label")
LABELS = tf.TensorSpec((None,), tf.int64)


def labels(data) -> list[int]:
    return [int(i) for batch in data for i in batch["_index"]]


def pointer(tensor) -> int:
    return np.asarray(memoryview(tensor)).ctypes.data


def test_batches_are_the_rows_in_order(ds):
    data = ds.tensorflow(16, tensors=PLAIN)
    assert isinstance(data, tf.data.Dataset) and len(data) == 4 and int(data.cardinality()) == 4
    batches = list(data)
    assert [int(tf.shape(batch["label"])[0]) for batch in batches] == [16, 16, 16, 5]
    for start, batch in zip(range(0, ROWS, 16), batches, strict=True):
        assert (batch["image"].numpy() == ds["image"].numpy(slice(start, min(start + 16, ROWS)))).all()
        assert batch["label"].numpy().tolist() == [i % 7 for i in range(start, min(start + 16, ROWS))]
    assert "53 rows" in repr(data)


def test_element_spec_of_the_schema(ds):
    data = ds.tensorflow(8, tensors=["image", "label", "word", "about", "half"], return_index=True)
    assert data.element_spec == {
        "image": tf.TensorSpec((None, 24, 32, 3), tf.uint8),
        "label": tf.TensorSpec((None,), tf.int64),
        "word": tf.TensorSpec((None,), tf.string),
        "about": tf.TensorSpec((None,), tf.string),
        "half": tf.TensorSpec((None, 2), tf.float16),
        "_index": tf.TensorSpec((None,), tf.int64),
    }
    for batch in data:
        tf.nest.map_structure(
            lambda spec, value: spec.is_compatible_with(value) or pytest.fail(), data.element_spec, batch
        )


def test_drop_last_makes_the_batch_axis_static(ds):
    data = ds.tensorflow(8, tensors=PLAIN, drop_last=True)
    assert data.element_spec["image"].shape == (8, 24, 32, 3) and int(data.cardinality()) == 6
    assert [batch["label"].shape[0] for batch in data] == [8] * 6


def test_text_and_json_are_strings(ds):
    batch = next(iter(ds.tensorflow(4, tensors=["word", "about"])))
    assert [word.decode() for word in batch["word"].numpy()] == [f"wörd {i}" for i in range(4)]
    assert [json.loads(text) for text in batch["about"].numpy()] == [{"row": i} for i in range(4)]


def test_lists_are_ragged(ds):
    data = ds.tensorflow(6, collate="list", tensors=["ragged", "label", "boxes", "tags"])
    spec = data.element_spec
    assert spec["ragged"] == tf.RaggedTensorSpec((None, None, 2), tf.float32, 1, tf.int64)
    assert spec["boxes"] == tf.RaggedTensorSpec((None, None, None, 4), tf.float32, 2, tf.int64)
    assert spec["tags"] == tf.RaggedTensorSpec((None, None), tf.string, 1, tf.int64)
    assert spec["label"] == tf.TensorSpec((None,), tf.int64)
    batch = next(iter(data))
    assert batch["ragged"].to_list() == [np.full((i % 4 + 1, 2), i).tolist() for i in range(6)]
    assert batch["boxes"].to_list() == [[np.full((k + 1, 4), i).tolist() for k in range(i % 3)] for i in range(6)]
    assert batch["tags"].to_list() == [[f"{i}.{k}".encode() for k in range(i % 3)] for i in range(6)]
    assert batch["label"].numpy().tolist() == list(range(6))


def test_holes_are_empty_where_there_is_room_for_them(place):
    schema = {"ragged": {"dtype": "int32"}, "word": "text", "fixed": {"dtype": "int32"}}
    with deeplake.create(place, schema=schema) as ds:
        ds.extend({"ragged": [[1, 2], None, [3]], "word": ["a", None, "c"], "fixed": [[1], None, [3]]})
        ds.commit()
        batch = next(iter(ds.tensorflow(3, collate="list", tensors=["ragged", "word"])))
        assert batch["ragged"].to_list() == [[1, 2], [], [3]]
        assert batch["word"].numpy().tolist() == [b"a", b"", b"c"]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r'TensorTypeError.*"fixed".*hole'):
            next(iter(ds.tensorflow(3, collate="list", tensors=["fixed"])))


def test_pad(ds):
    data = ds.tensorflow(4, collate="pad", tensors=["ragged", "label"])
    assert data.element_spec["ragged"] == tf.TensorSpec((None, None, 2), tf.float32)
    assert data.element_spec["ragged_shape"] == tf.TensorSpec((None, 2), tf.int64)
    batch = next(iter(data))
    assert batch["ragged"].shape == (4, 4, 2)
    assert batch["ragged_shape"].numpy().tolist() == [[1, 2], [2, 2], [3, 2], [4, 2]]


def test_numbers_are_not_copied(ds):
    data = ds.tensorflow(16, tensors=PLAIN)
    seen = []
    pack = data._stream._assembly.__call__
    data._stream._assembly = lambda batch: seen.append(pack(batch)) or seen[-1]
    for k, batch in enumerate(data):
        assert pointer(batch["image"]) == seen[k]["image"].ctypes.data
        assert pointer(batch["image"]) % 64 == 0


@pytest.mark.parametrize("shuffle", [True, "full"])
def test_order_and_epochs_are_those_of_pytorch(ds, shuffle):
    pytest.importorskip("torch")
    options = {"shuffle": shuffle, "seed": 5, "tensors": ["label"], "return_index": True}
    data, loader = ds.tensorflow(8, **options), ds.pytorch(8, **options)
    for epoch in range(3):
        assert data.epoch == epoch
        assert labels(data) == [int(i) for batch in loader for i in batch["_index"]]
    assert labels(data.repeat(2)) == [int(i) for _ in range(2) for batch in loader for i in batch["_index"]]
    data.set_epoch(1)
    loader.set_epoch(1)
    assert labels(data.map(lambda batch: batch)) == [int(i) for batch in loader for i in batch["_index"]]


def test_taking_as_many_batches_as_there_are_ends_the_epoch(ds):
    data = ds.tensorflow(8, shuffle=True, tensors=["label"])
    for _ in zip(range(len(data)), data, strict=False):
        pass
    assert data.epoch == 1


def test_a_transform_is_looked_at(ds):
    def crop(image):
        return image[:10, :12].astype(np.float32)

    data = ds.tensorflow(8, tensors=["image", "word"], transform={"image": crop})
    assert data.element_spec["image"] == tf.TensorSpec((None, 10, 12, 3), tf.float32)
    assert next(iter(data))["word"].dtype == tf.string
    data = ds.tensorflow(8, transform=lambda row: {"mean": row["image"].mean(), "name": row["word"].upper()})
    assert data.element_spec == {"mean": tf.TensorSpec((None,), tf.float64), "name": tf.TensorSpec((None,), tf.string)}
    assert next(iter(data))["name"][0].numpy().decode() == "WÖRD 0"
    given = {"image": tf.TensorSpec((None, None, None, 3), tf.float32)}
    assert ds.tensorflow(8, tensors=["image"], transform={"image": crop}, element_spec=given).element_spec == given


def test_a_transform_may_make_lists(ds):
    data = ds.tensorflow(4, tensors=["ragged"], collate="list", transform={"ragged": lambda a: a[:, 0].astype("int16")})
    assert data.element_spec["ragged"] == tf.RaggedTensorSpec((None, None), tf.int16, 1, tf.int64)
    assert next(iter(data))["ragged"].to_list() == [[i] * (i % 4 + 1) for i in range(4)]


def test_a_collate_function_makes_any_structure(ds):
    def collate(rows):
        return np.stack([row["image"] for row in rows]), {"y": np.array([row["label"] for row in rows])}

    data = ds.tensorflow(8, collate=collate)
    assert data.element_spec == (
        tf.TensorSpec((None, 24, 32, 3), tf.uint8),
        {"y": tf.TensorSpec((None,), tf.int64)},
    )
    assert sum(y["y"].shape[0] for _, y in data) == ROWS


def test_model_fit_knows_its_steps_and_reshuffles(ds):
    seen: list[list[int]] = []

    class Watch(tf.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            seen.append([])

    def note(batch):
        index = tf.py_function(lambda i: seen[-1].extend(i.numpy().tolist()) or i, [batch["_index"]], tf.int64)
        with tf.control_dependencies([index]):
            return tf.cast(batch["image"], tf.float32) / 255, batch["label"]

    data = ds.tensorflow(8, shuffle=True, tensors=PLAIN, return_index=True)
    train = data.map(note)
    assert int(train.cardinality()) == 7
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(7)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(train, epochs=3, verbose=0, callbacks=[Watch()])
    assert history.params["steps"] == 7
    assert [sorted(epoch) for epoch in seen] == [list(range(ROWS))] * 3
    assert len({tuple(epoch) for epoch in seen}) == 3 and data.epoch == 3


def test_a_state_goes_on_in_the_middle_and_fits_the_other_hosts(ds):
    options = {"shuffle": True, "seed": 3, "tensors": ["label"], "return_index": True}
    data = ds.tensorflow(8, **options)
    whole = labels(data)
    data.set_epoch(0)
    for _ in zip(range(3), data, strict=False):
        pass
    state = json.loads(json.dumps(data.state_dict()))
    other = ds.tensorflow(8, **options)
    other.load_state_dict(state)
    assert other.cardinality() == tf.data.UNKNOWN_CARDINALITY and len(other) == 7
    assert labels(other.map(lambda batch: batch)) == whole[24:]
    assert other.epoch == 1 and int(other.cardinality()) == 7 and len(labels(other)) == ROWS
    batches = ds.batches(8, **options)
    batches.load_state_dict(state)
    assert [int(i) for batch in batches for i in batch["_index"]] == whole[24:]
    again = pickle.loads(pickle.dumps(_resumed(ds, state, options)))
    assert labels(again) == whole[24:]


def _resumed(ds, state, options):
    data = ds.tensorflow(8, **options)
    data.load_state_dict(state)
    return data


def test_a_state_loaded_behind_map_is_refused_at_once(ds):
    data = ds.tensorflow(8, tensors=["label"])
    mapped = data.map(lambda batch: batch["label"])
    next(iter(data))
    state = data.state_dict()
    data.load_state_dict(state)
    with pytest.raises(tf.errors.InvalidArgumentError, match="load the state first"):
        list(mapped)
    assert len(list(data)) == 6 and len(list(mapped)) == 7


def test_model_fit_goes_on_from_a_state(ds):
    data = ds.tensorflow(8, tensors=PLAIN)
    next(iter(data))
    data.load_state_dict(data.state_dict())
    train = data.map(lambda batch: (tf.cast(batch["image"], tf.float32), batch["label"]))
    steps: list[int] = []

    class Count(tf.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            steps.append(0)

        def on_train_batch_end(self, batch, logs=None):
            steps[-1] += 1

    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(7)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(train, epochs=1, verbose=0, callbacks=[Count()])
    model.fit(
        data.map(lambda b: (tf.cast(b["image"], tf.float32), b["label"])), epochs=2, verbose=0, callbacks=[Count()]
    )
    assert steps == [6, 7, 7]


def test_ranks(ds):
    parts = [
        ds.tensorflow(8, shuffle=True, rank=rank, world_size=2, tensors=["label"], return_index=True)
        for rank in range(2)
    ]
    assert len(parts[0]) == len(parts[1])
    assert sorted(labels(parts[0]) + labels(parts[1])) == list(range(ROWS))
    assert all(bool(tf.reduce_all(batch["_valid"])) for batch in parts[0])
    padded = ds.tensorflow(8, tail="pad", tensors=["label"])
    assert padded.element_spec["_valid"] == tf.TensorSpec((8,), tf.bool)
    assert sum(int(tf.reduce_sum(tf.cast(batch["_valid"], tf.int32))) for batch in padded) == ROWS


def test_in_a_graph(ds):
    @tf.function
    def total(data):
        done = tf.constant(0, tf.int64)
        for batch in data:
            done += tf.reduce_sum(batch["label"])
        return done

    assert int(total(ds.tensorflow(8, tensors=["label"]))) == sum(i % 7 for i in range(ROWS))


def test_leaving_early_and_dropping_leaves_nothing(ds):
    references = deeplake._native.memory_references()
    for _ in range(5):
        data = ds.tensorflow(4, tensors=PLAIN)
        stream = weakref.ref(data._stream)
        for _ in data:
            break
        data.map(lambda batch: batch["label"])
        del data
    gc.collect()
    assert stream() is None
    tf.zeros(3).numpy()  # TensorFlow lets go of NumPy arrays at its next call
    list(tf.data.Dataset.range(1))
    assert deeplake._native.memory_references() <= references + 1


def test_errors_carry_class_and_message(ds):
    spec = {"label": tf.TensorSpec((None,), tf.int64)}
    data = ds.tensorflow(8, tensors=["label"], transform={"label": lambda i: 1 // (int(i) - 6)}, element_spec=spec)
    with pytest.raises(tf.errors.OpError, match="ZeroDivisionError"):
        list(data)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r'TensorTypeError.*"ragged".*shape'):
        list(ds.tensorflow(8, tensors=["ragged"]))


def test_skipped_rows_leave_the_cardinality_open(ds):
    data = ds.tensorflow(8, tensors=["label"], on_error="skip")
    assert data.cardinality() == tf.data.UNKNOWN_CARDINALITY and len(list(data)) == 7
    assert data.stats()["rows"] == ROWS


def test_element_spec_of_what_padding_adds(ds):
    given = {
        "ragged": tf.TensorSpec((None, None, 2), tf.float32), "ragged_shape": tf.TensorSpec((None, 2), tf.int64),
    }  # fmt: skip
    data = ds.tensorflow(8, tensors=["ragged"], collate="pad", element_spec=given)
    assert data.element_spec == given and len(list(data)) == len(data)


@pytest.mark.parametrize(
    ("options", "error", "wrong"),
    [
        ({"tensors": ["image"], "decode": {"image": "pil"}}, deeplake.UnsupportedError, "PIL"),
        ({"tensors": ["nothing"]}, deeplake.NotFoundError, "nothing"),
        ({"batch_size": 0}, deeplake.InvalidArgumentError, "batch_size"),
        ({"element_spec": {"label": "int64"}}, deeplake.InvalidArgumentError, "element_spec"),
        ({"element_spec": [1]}, deeplake.InvalidArgumentError, "element_spec"),
        ({"element_spec": {"lable": LABELS}}, deeplake.InvalidArgumentError, '"lable".*; did you mean "label"'),
        ({"element_spec": {"_index": LABELS}}, deeplake.InvalidArgumentError, '"_index", which batches do not have'),
        (
            {"transform": lambda row: {"mean": row["label"]}, "element_spec": {"maen": LABELS}},
            deeplake.InvalidArgumentError,
            'did you mean "mean"',
        ),
        ({"tensors": ["label"], "transform": {"label": lambda _: object()}}, deeplake.TensorTypeError, "object"),
        ({"shufle": True}, deeplake.InvalidArgumentError, "shuffle"),
    ],
)
def test_wrong_arguments(ds, options, error, wrong):
    with pytest.raises(error, match=wrong):
        ds.tensorflow(**options)


def test_samples_of_any_shape_have_no_type(place):
    with deeplake.create(place, schema={"x": {"dtype": "int32"}, "open": {}}) as ds:
        with pytest.raises(deeplake.InvalidArgumentError, match=r'"open".*element_spec'):
            ds.tensorflow(2, tensors=["open"])
        ds.extend({"x": [[1], [[2]]], "open": [1, 2]})
        ds.commit()
        with pytest.raises(deeplake.TensorTypeError, match=r'"x".*axes'):
            ds.tensorflow(2, tensors=["x"], collate="list")


def test_an_empty_view(ds):
    assert list(ds[:0].tensorflow(4, tensors=PLAIN)) == []
    with pytest.raises(deeplake.InvalidArgumentError, match="element_spec"):
        ds[:0].tensorflow(4, transform=lambda row: row)


def test_a_mixture(ds):
    mixed = deeplake.mix([ds[:20], ds[20:]], mode="exact")
    options = {"shuffle": True, "tensors": ["label", "image"], "return_index": True}
    data = mixed.tensorflow(8, transform={"image": lambda image: image[:4]}, **options)
    assert data.element_spec["_source"] == tf.TensorSpec((None,), tf.int64)
    assert data.element_spec["image"] == tf.TensorSpec((None, 4, 32, 3), tf.uint8)
    assert labels(data) == [int(i) for batch in mixed.batches(8, **options) for i in batch["_index"]]
