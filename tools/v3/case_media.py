"""Case of media: video, audio, dicom, nifti, point clouds and meshes, made here."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from cases import attempt, case, fresh
from pictures import crop

RATE = 8000


@case
def media(root: Path) -> dict[str, dict[str, Any]]:
    """Writes a tensor a kind of file; a kind whose library is absent is skipped."""
    skipped: dict[str, str] = {}
    folder = root / "media.files"
    folder.mkdir(parents=True, exist_ok=True)
    kinds: list[tuple[str, str, str, Callable[[Path, int], None]]] = [
        ("video", "mp4", "av", film),
        ("video", "mkv", "av", film),
        ("video", "avi", "av", film),
        ("audio", "wav", "av", sound),
        ("audio", "flac", "av", sound),
        ("audio", "mp3", "av", sound),
        ("dicom", "dcm", "pydicom", scan),
        ("nifti", "nii", "nibabel", volume),
        ("nifti", "nii.gz", "nibabel", volume),
        ("point_cloud", "las", "laspy", cloud),
        ("mesh", "ply", "numpy", triangles),
        ("mesh", "stl", "stl", solid),
    ]
    with fresh(root, "media") as ds:
        for htype, kind, library, make in kinds:
            name = f"{htype}_{kind.replace('.', '_')}"
            if importlib.util.find_spec(library) is None:
                skipped[name] = f"{library} is not installed"
                print(f"  skipped {name}: {skipped[name]}", flush=True)
                continue
            attempt(name, lambda row=(name, htype, kind, make): write(ds, folder, *row), skipped)
        arrays(ds)
    return {"media": {"skipped": skipped}}


def write(
    ds: Any,
    folder: Path,
    name: str,
    htype: str,
    kind: str,
    make: Callable[[Path, int], None],
) -> None:
    """Writes two files of a kind and appends them to a new tensor."""
    paths = [folder / f"{name}_{number}.{kind}" for number in range(2)]
    for number, path in enumerate(paths):
        make(path, number)
    ds.create_tensor(name, htype=htype, sample_compression=kind)
    for path in paths:
        ds[name].append(deeplake.read(str(path)))


def arrays(ds: Any) -> None:
    """Writes media without a compression, which are plain arrays."""
    rng = np.random.default_rng(8)
    ds.create_tensor("audio_raw", htype="audio", sample_compression=None)
    ds.audio_raw.extend([rng.random((50 + n, 2)) for n in range(2)])
    ds.create_tensor("points_raw", htype="point_cloud", sample_compression=None)
    ds.points_raw.extend([rng.random((9 + n, 3), dtype="float32") for n in range(2)])
    ds.create_tensor("video_raw", htype="video", sample_compression=None)
    ds.video_raw.append(rng.integers(0, 255, (3, 8, 10, 3)).astype("uint8"))


def film(path: Path, number: int) -> None:
    """Writes ten frames of a moving crop."""
    import av

    with av.open(str(path), "w") as container:
        codec = "mpeg4" if path.suffix == ".avi" else "libx264"
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48 + 16 * number, "yuv420p"
        picture = crop(number, 80, 100)
        for i in range(10):
            part = np.ascontiguousarray(picture[i : i + stream.height, 2 * i : 2 * i + 64])
            for packet in stream.encode(av.VideoFrame.from_ndarray(part, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def sound(path: Path, number: int) -> None:
    """Writes a quarter of a second of two tones, in one or two channels."""
    import av

    layout = ["stereo", "mono"][number]
    codec = {".wav": "pcm_s16le", ".flac": "flac", ".mp3": "libmp3lame"}[path.suffix]
    time = np.arange(RATE // 4) / RATE
    tones = [np.sin(2 * np.pi * hertz * time) * 0.6 for hertz in (440, 523)][: 2 - number]
    samples = (np.stack(tones, axis=1) * 32767).astype("int16")
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE, layout=layout)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout=layout)
        frame.sample_rate = RATE
        to = av.AudioResampler(format=stream.format, layout=layout, rate=RATE)
        size = stream.codec_context.frame_size or None
        if size:
            to = av.AudioResampler(stream.format, layout, RATE, frame_size=size)
        for part in [*to.resample(frame), *to.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))


def scan(path: Path, number: int) -> None:
    """Writes a small scan of twelve bits."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = CTImageStorage
    meta.MediaStorageSOPInstanceUID = f"1.2.3.{number + 1}"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    pixels = crop(number, 24 + number, 32)[..., 0].astype("uint16") * 16
    file = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    file.SOPClassUID, file.SOPInstanceUID = CTImageStorage, meta.MediaStorageSOPInstanceUID
    file.Modality, file.PatientName = "CT", "No^One"
    file.Rows, file.Columns = pixels.shape
    file.SamplesPerPixel, file.PhotometricInterpretation = 1, "MONOCHROME2"
    file.BitsAllocated, file.BitsStored, file.HighBit, file.PixelRepresentation = 16, 12, 11, 0
    file.PixelData = pixels.tobytes()
    file.save_as(str(path), enforce_file_format=True)


def volume(path: Path, number: int) -> None:
    """Writes a small volume whose header scales it."""
    import nibabel

    rng = np.random.default_rng(number)
    data = rng.integers(-99, 999, (7, 8 + number, 5)).astype("int16")
    image = nibabel.Nifti1Image(data, np.eye(4))
    image.header.set_slope_inter(*((2.0, 1.0) if number else (1.0, 0.0)))
    nibabel.save(image, str(path))


def cloud(path: Path, number: int) -> None:
    """Writes a point cloud; the package refuses formats with a time, which is a float64."""
    import laspy

    rng = np.random.default_rng(number)
    header = laspy.LasHeader(point_format=2, version="1.2")
    header.offsets, header.scales = np.zeros(3), np.full(3, 0.01)
    las = laspy.LasData(header)
    count = 40 + number
    las.x, las.y, las.z = rng.random((3, count)) * 100
    las.intensity = rng.integers(0, 60000, count).astype("uint16")
    las.classification = rng.integers(0, 20, count).astype("uint8")
    las.write(str(path))


def triangles(path: Path, number: int) -> None:
    """Writes a mesh of two triangles, as text or as bytes; the package reads back neither."""
    corners = np.array([(0, 0, 0), (1, 0, 2), (1, 1, 0), (0, 1, 0.5)], "<f4")
    faces = [(0, 1, 2), (0, 2, 3)]
    head = ["ply", f"format {['ascii', 'binary_little_endian'][number]} 1.0", "element vertex 4"]
    head += [f"property float {axis}" for axis in "xyz"]
    head += ["element face 2", "property list uchar int vertex_indices", "end_header"]
    if number:
        body = corners.tobytes() + b"".join(struct.pack("<Biii", 3, *face) for face in faces)
    else:
        rows = [*corners.tolist(), *([3, *face] for face in faces)]
        body = "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()
    path.write_bytes("\n".join([*head, ""]).encode() + body)


def solid(path: Path, number: int) -> None:
    """Writes a solid of three triangles."""
    from stl import mesh

    data = np.zeros(3, dtype=mesh.Mesh.dtype)
    data["vectors"] = np.arange(27, dtype="float32").reshape(3, 3, 3) + number
    mesh.Mesh(data).save(str(path))
