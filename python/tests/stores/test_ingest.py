"""`deeplake create` from buckets: copied, linked, brought up to date; with real servers."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import deeplake
import numpy as np
import pyarrow as pa
import pytest
from betons import Field, write
from conftest import encoded, host, picture
from pyarrow import feather, parquet
from servers import Server, running


def create(server: Server, *args: str) -> dict:
    env = {**os.environ, **server.environment()}
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", "create", *args, "--json"],
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"]
    return report


def test_a_bucket_becomes_a_dataset_in_another(store: Server, tmp_path: Path) -> None:
    theirs, ours = store.new_bucket(), store.new_bucket()
    files = {f"train/{'rose' if i % 2 else 'daisy'}/{i:03} é.jpg": encoded(picture(i)) for i in range(40)}
    for name, data in files.items():
        store.put(theirs, name, data)
    store.put(theirs, "train/rose/notes.txt", b"no picture")
    place, source = store.uri(ours, "sets", "flowers"), store.uri(theirs, "train")
    report = create(store, place, f"from-{source}")
    assert (report["rows"], report["classes"], report["skipped"]) == (40, ["daisy", "rose"], 1)
    storage = deeplake.Storage(**store.settings())
    ds = deeplake.open(place, storage=storage)
    assert ds["images"].bytes(list(range(40))) == [files[name] for name in sorted(files)]
    assert [int(label) for label in ds["labels"].numpy()] == [0] * 20 + [1] * 20

    assert create(store, place, f"from-{source}")["unchanged"] == 40
    changed = sorted(files)[3]
    store.put(theirs, changed, encoded(picture(100)))
    store.put(theirs, "train/tulip/1.jpg", encoded(picture(101)))
    store.delete(theirs, sorted(files)[5])
    report = create(store, place, f"from-{source}")
    assert (report["added"], report["updated"], report["gone"], report["unchanged"]) == (1, 1, 1, 38)
    ds = deeplake.open(place, storage=storage)
    assert ds["images"].bytes(3) == encoded(picture(100)) and len(ds) == 41


def test_images_of_a_bucket_are_linked(store: Server, tmp_path: Path) -> None:
    bucket = store.new_bucket()
    files = [encoded(picture(i)) for i in range(12)]
    for i, data in enumerate(files):
        store.put(bucket, f"c{i % 2}/{i:02}.jpg", data)
    report = create(store, str(tmp_path / "set"), f"from-{store.uri(bucket)}", "--link")
    assert report["rows"] == 12
    storage = deeplake.Storage(**store.settings())
    with pytest.raises(deeplake.AccessDeniedError, match="link_storage"):
        deeplake.open(tmp_path / "set", storage=storage)["images"].bytes(0)
    ds = deeplake.open(tmp_path / "set", link_storage={store.uri(bucket): storage})
    order = [*range(0, 12, 2), *range(1, 12, 2)]
    assert ds["images"].bytes(list(range(12))) == [files[i] for i in order]
    ds.append({"images": deeplake.link(store.uri(bucket, "c0", "00.jpg")), "labels": "c0"})
    ds.commit()
    assert np.array_equal(ds["images"][12], deeplake.read(files[0]).array)
    store.put(bucket, "c0/02.jpg", encoded(picture(50)))
    with pytest.raises(deeplake.CorruptError, match=r"c0/02\.jpg.*has changed"):
        ds["images"][1]
    assert create(store, str(tmp_path / "set"), f"from-{store.uri(bucket)}", "--link")["updated"] == 1


def test_shards_of_a_bucket_are_shuffled_without_copies(store: Server, tmp_path: Path) -> None:
    bucket = store.new_bucket()
    files = [encoded(picture(i)) for i in range(60)]
    for shard in range(3):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for i in range(20 * shard, 20 * shard + 20):
                for kind, data in (("jpg", files[i]), ("cls", str(i % 7).encode())):
                    member = tarfile.TarInfo(f"{i:05}.{kind}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        store.put(bucket, f"shards/{shard}.tar", out.getvalue())
    place = store.uri(bucket, "index")
    assert create(store, place, f"from-{store.uri(bucket, 'shards')}", "--link")["rows"] == 60
    ds = deeplake.open(place, storage=deeplake.Storage(**store.settings()))
    for epoch in range(2):
        seen = []
        loader = ds.batches(8, shuffle=True, seed=epoch, decode={"images": "bytes"}, collate="list", return_index=True)
        for batch in loader:
            for row, image, label in zip(batch["_index"], batch["images"], batch["labels"], strict=True):
                assert bytes(image) == files[row] and label == row % 7
                seen.append(int(row))
        assert sorted(seen) == list(range(60))


@pytest.mark.parametrize("kind", ["mds", "parquet", "tfrecord"])
def test_images_stay_in_tables_of_a_bucket(store: Server, tmp_path: Path, kind: str) -> None:
    files = [encoded(picture(i)) for i in range(40)]
    with deeplake.create(f"mem://to-link-{kind}-{store.scheme}", overwrite=True) as ds:
        ds.create_tensor("image", "image")
        ds.create_tensor("label", dtype="int64")
        ds.extend({"image": [deeplake.read(file) for file in files], "label": range(40)})
        ds.commit()
        ds.export(tmp_path / kind, format=kind, shard_bytes=8 << 10)
    bucket = store.new_bucket()
    for path in (tmp_path / kind).rglob("*"):
        if path.is_file():
            store.put(bucket, f"in/{path.relative_to(tmp_path / kind)}", path.read_bytes())
    source, place = store.uri(bucket, "in"), store.uri(bucket, "index")
    assert create(store, place, f"from-{source}", "--link")["rows"] == 40
    ds = deeplake.open(place, storage=deeplake.Storage(**store.settings()))
    loader = ds.batches(8, shuffle=True, decode={"image": "bytes"}, collate="list")
    pairs = (pair for batch in loader for pair in zip(batch["label"], batch["image"], strict=True))
    seen = {int(label): bytes(image) for label, image in pairs}
    assert seen == dict(enumerate(files))
    shard = min((tmp_path / kind).rglob(f"*.{kind}"))
    store.put(bucket, f"in/{shard.relative_to(tmp_path / kind)}", shard.read_bytes() + b"more")
    with pytest.raises(deeplake.CorruptError, match=rf"{shard.name}.*has changed since it was linked"):
        ds["image"].bytes(0)


def test_files_of_ffcv_in_a_bucket(store: Server, tmp_path: Path) -> None:
    rows = [[encoded(picture(i)), i] for i in range(300)]
    write(tmp_path / "a.beton", {"image": Field(2), "label": Field(1)}, rows, workers=2)
    bucket = store.new_bucket()
    store.put(bucket, "in/a.beton", (tmp_path / "a.beton").read_bytes())
    for link in ((), ("--link",)):
        place = store.uri(bucket, f"lake-{len(link)}")
        assert create(store, place, f"from-{store.uri(bucket, 'in', 'a.beton')}", *link)["rows"] == 300
        ds = deeplake.open(place, storage=deeplake.Storage(**store.settings()))
        assert ds["image"].bytes(range(300)) == [row[0] for row in rows]
        assert ds["label"].numpy().tolist() == list(range(300))


def test_a_table_of_lance_in_a_bucket(store: Server, tmp_path: Path) -> None:
    lance = host("lance")
    if store.scheme != "s3":
        pytest.skip("pylance takes no endpoint of Google")
    files = [encoded(picture(i)) for i in range(30)]
    lance.write_dataset(pa.table({"id": range(30), "image": pa.array(files, pa.binary())}), tmp_path / "t.lance")
    bucket = store.new_bucket()
    for path in (tmp_path / "t.lance").rglob("*"):
        if path.is_file():
            store.put(bucket, f"t.lance/{path.relative_to(tmp_path / 't.lance')}", path.read_bytes())
    storage = deeplake.Storage(**store.settings())
    source = store.uri(bucket, "t.lance")
    ds = deeplake.ingest(source, "mem://of-lance-in-a-bucket", source_storage=storage, overwrite=True, verbose=False)
    assert ds["image"].bytes(range(30)) == files
    old = deeplake.ingest(f"{source}@1", "mem://of-lance-at-1", source_storage=storage, overwrite=True, verbose=False)
    assert len(old) == 30
    with pytest.raises(deeplake.Error, match=r"of-lance|no table|not found|no version"):
        deeplake.ingest(f"{source}@7", "mem://of-lance-at-7", source_storage=storage, verbose=False)


def test_links_across_a_network_are_read_ahead(proxy: Server, tmp_path: Path) -> None:
    """A dataset on a disk that links to a store reads its images by few requests."""
    files = [encoded(picture(i)) for i in range(300)]
    rows = [{"image": {"bytes": file, "path": None}, "n": i} for i, file in enumerate(files)]
    bucket = proxy.new_bucket()
    for part in range(3):
        out = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows[100 * part : 100 * part + 100]), out, compression="none")
        proxy.put(bucket, f"in/{part}.parquet", out.getvalue())
    storage = deeplake.Storage(**proxy.settings(through_proxy=True))
    source = proxy.uri(bucket, "in")
    made = deeplake.ingest(source, tmp_path / "index", link=True, source_storage=storage, verbose=False)
    assert made["image"].bytes(7) == files[7]  # without link_storage: the user has named the source
    made.close()

    def opened() -> deeplake.Dataset:
        return deeplake.open(tmp_path / "index", link_storage={source: storage})

    def gets() -> int:
        found = sum(one["method"] == "GET" for one in proxy.requests())
        proxy.reset()
        return found

    gets()
    loader = opened().batches(32, shuffle=True, decode={"image": "bytes"}, collate="list")
    pairs = [pair for batch in loader for pair in zip(batch["n"], batch["image"], strict=True)]
    assert {int(n): bytes(image) for n, image in pairs} == dict(enumerate(files)) and gets() <= 12
    assert opened()["image"].bytes(range(300)) == files and gets() <= 12
    assert len(opened()[0:300]["image"].numpy()) == 300 and gets() <= 12
    parts = opened().query("SELECT image[0:8, 0:8] AS part ORDER BY n DESC")
    assert len(parts["part"].numpy()) == 300 and gets() <= 12
    opened().export(tmp_path / "out", format="mds")
    assert gets() <= 12
    assert opened().query("SELECT SUM(n) AS s")["s"][0] == sum(range(300)) and gets() == 0


def test_images_stay_in_a_table_of_a_web_server(tmp_path: Path) -> None:
    files = [encoded(picture(i)) for i in range(12)]
    (tmp_path / "site").mkdir()
    rows = [{"image": {"bytes": file, "path": None}} for file in files]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "site/a b.parquet", compression="none")
    with running("http", folder=tmp_path / "site") as servers:
        source = f"{servers['http'].proxy}/a%20b.parquet"
        ds = deeplake.ingest(source, tmp_path / "set", link=True, verbose=False)
        assert ds["image"].bytes(range(12)) == files
        again = deeplake.open(tmp_path / "set", link_storage={servers["http"].proxy: deeplake.Storage()})
        assert again["image"].bytes(range(12)) == files


@pytest.mark.parametrize("link", [False, True])
def test_a_list_on_a_web_server_becomes_a_dataset(tmp_path: Path, link: bool) -> None:
    folder = tmp_path / "site"
    files = {f"{'rose' if i % 2 else 'daisy'}/{i:03}.jpg": encoded(picture(i)) for i in range(12)}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "all.txt").write_text("\n".join(sorted(files, reverse=True)) + "\nrose/gone.jpg\n")
    with running("http", folder=folder) as servers:
        site = servers["http"].proxy
        place = str(tmp_path / "set")
        report = create(servers["http"], place, f"from-{site}/all.txt", *(["--link"] if link else []))
        assert (report["rows"], report["classes"], report["skipped"]) == (12, ["daisy", "rose"], 1)
        assert report["skips"][0]["path"] == "rose/gone.jpg"
        ds = deeplake.open(place, link_storage={site: deeplake.Storage()})
        assert ds["images"].bytes(list(range(12))) == [files[name] for name in sorted(files)]
        again = create(servers["http"], place, f"from-{site}/all.txt", *(["--link"] if link else []))
        assert again["rows"] == 12 and again["added"] == 0


def test_tables_of_a_bucket(store: Server, tmp_path: Path) -> None:
    """Folders of comma-separated values and of Arrow, with partitions; a second run adds what is new."""
    theirs = store.new_bucket()
    for year in (2025, 2026):
        store.put(theirs, f"csv/year={year}/a.csv.gz", gzip.compress(b"id,text\n1,x\n2,\n"))
        feather.write_feather(pa.table({"id": [1, 2], "text": ["x", None]}), str(tmp_path / "x"))
        store.put(theirs, f"arrow/year={year}/a.feather", (tmp_path / "x").read_bytes())
    for kind, of, text in (("csv", "csv", ""), ("arrow", "feather", None)):
        place, source = str(tmp_path / kind), store.uri(theirs, kind)
        report = create(store, place, f"from-{source}")
        assert (report["added"], report["format"]) == (4, of)
        ds = deeplake.open(place)
        assert ds["year"].numpy().tolist() == [2025, 2025, 2026, 2026]
        assert [ds["text"][n] for n in range(4)] == ["x", text] * 2
        name = f"{kind}/year=2027/b.{'csv' if of == 'csv' else 'arrow'}"
        store.put(theirs, name, b"id,text\n9,y\n" if of == "csv" else (tmp_path / "x").read_bytes())
        report = create(store, place, f"from-{source}")
        assert report["unchanged"] == 2 and report["rows"] == (5 if of == "csv" else 6)


def test_annotations_in_a_bucket(store: Server, tmp_path: Path) -> None:
    """COCO and YOLO beside pictures in a bucket, and a file of annotations on this machine."""
    theirs, ours = store.new_bucket(), store.new_bucket()
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in range(5)]
    objects = [{"id": i, "image_id": i, "category_id": 4, "bbox": [i, 1, 2, 3]} for i in range(4)]
    document = {"images": images, "annotations": objects, "categories": [{"id": 4, "name": "cat"}]}
    for i in range(5):
        store.put(theirs, f"coco/val2017/{i}.jpg", encoded(picture(i)))
        store.put(theirs, f"yolo/images/{i}.jpg", encoded(picture(i)))
        if i < 4:
            store.put(theirs, f"yolo/labels/{i}.txt", f"0 0.{i + 1} 0.5 0.25 0.25\n".encode())
    store.put(theirs, "coco/annotations/instances_val2017.json", json.dumps(document).encode())
    store.put(theirs, "yolo/data.yaml", b"names: [cat]")
    storage = deeplake.Storage(**store.settings())
    for name, first in (("coco", lambda i: i), ("yolo", lambda i: np.float32((i + 1) / 10))):
        place = store.uri(ours, name)
        report = create(store, place, f"from-{store.uri(theirs, name)}")
        assert (report["format"], report["rows"], report["objects"], report["skipped"]) == (name, 5, 4, 0)
        ds = deeplake.open(place, storage=storage)
        assert ds["labels"].class_names == ["cat"]
        assert [row["boxes"][:, 0].tolist() for row in ds] == [*([first(i)] for i in range(4)), []]
        assert create(store, place, f"from-{store.uri(theirs, name)}")["unchanged"] == 5
        report = create(store, str(tmp_path / name), f"from-{store.uri(theirs, name)}", "--format", name)
        assert (report["rows"], report["objects"], report["skipped"]) == (5, 4, 0)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document))
    source = store.uri(theirs, "coco/val2017")
    report = create(store, str(tmp_path / "mixed"), f"from-{source}", "--annotations", str(file), "--link")
    assert (report["format"], report["rows"], report["objects"]) == ("coco", 5, 4)
