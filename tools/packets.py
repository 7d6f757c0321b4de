"""Writes core/media/ffmpeg/testdata: packets of small videos of every codec, and what ffmpeg makes of them.

`packets.py FFMPEG` takes a program of FFmpeg with all encoders, such as the one in imageio-ffmpeg from PyPI. PyAV takes
the packets out of the files. A line of a stream's hashes is the MD5 of all planes of one frame, in the order shown.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import av

TARGET = Path(__file__).resolve().parent.parent / "core/media/ffmpeg/testdata"

# name: size, frames, format of pixels, arguments of the encoder, container
STREAMS = {
    "h264": ("90x62", 24, "yuv420p", "-c:v libx264 -bf 3 -b_strategy 0 -g 12 -crf 30 -x264-params threads=1", "mp4"),
    "h264_plain": (
        "64x48",
        24,
        "yuv420p",
        "-c:v libx264 -profile:v main -bf 3 -b_strategy 0 -g 12 -crf 34 -x264-params threads=1",
        "mp4",
    ),
    "h264_444": ("61x47", 4, "yuv444p", "-c:v libx264 -crf 34 -x264-params threads=1", "mp4"),
    "h264_10": ("64x48", 6, "yuv422p10le", "-c:v libx264 -crf 34 -x264-params threads=1", "mp4"),
    "hevc_gray": ("64x48", 4, "gray", "-c:v libx265 -crf 34 -x265-params log-level=none:info=0", "mp4"),
    "h264_color": (
        "64x48",
        2,
        "yuv420p",
        "-c:v libx264 -crf 34 -color_range pc"
        " -x264-params threads=1:colormatrix=bt709:colorprim=bt709:transfer=bt709:chromaloc=2",
        "mp4",
    ),
    "hevc": ("64x48", 12, "yuv420p", "-c:v libx265 -crf 32 -x265-params bframes=3:log-level=none:info=0", "mp4"),
    "hevc_10": ("64x48", 6, "yuv420p10le", "-c:v libx265 -crf 34 -x265-params log-level=none:info=0", "mp4"),
    "av1": ("64x64", 8, "yuv420p", "-c:v libaom-av1 -crf 40 -cpu-used 6 -g 4 -lag-in-frames 8", "mp4"),
    "av1_10": ("64x64", 4, "yuv420p10le", "-c:v libaom-av1 -crf 40 -cpu-used 6", "mp4"),
    "vp9": ("64x48", 8, "yuv420p", "-c:v libvpx-vp9 -crf 40 -b:v 0 -auto-alt-ref 1 -lag-in-frames 8", "webm"),
    "vp8": ("64x48", 8, "yuv420p", "-c:v libvpx -crf 40 -b:v 100k", "webm"),
    "mpeg4": ("64x48", 10, "yuv420p", "-c:v mpeg4 -bf 2 -q:v 6", "mp4"),
    "mjpeg": ("64x48", 3, "yuvj420p", "-c:v mjpeg -q:v 8", "mov"),
}


def main() -> None:
    """Writes every stream."""
    ffmpeg = sys.argv[1]
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, (size, frames, pixels, encoder, container) in STREAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            video = Path(folder) / f"a.{container}"
            source = f"testsrc2=size={size}:rate=25"
            run = [ffmpeg, "-v", "error", "-f", "lavfi", "-i", source, "-frames:v", str(frames), "-pix_fmt", pixels]
            subprocess.run([*run, *encoder.split(), "-fflags", "+bitexact", str(video)], check=True)
            stream = {"codec": name.partition("_")[0], "size": [int(n) for n in size.split("x")]}
            stream |= read(video)
            if name == "h264_plain":
                stream["setup"] = base64.b64encode(without_vui(base64.b64decode(str(stream["setup"])))).decode()
            stream["frames"] = hashes(ffmpeg, video)
            (TARGET / f"{name}.json").write_text(json.dumps(stream, indent=1) + "\n")


def read(video: Path) -> dict[str, object]:
    """The setup and the packets of a file."""
    with av.open(str(video)) as file:
        packets = [p for p in file.demux(video=0) if p.size]
        return {
            "pixels": file.streams.video[0].codec_context.pix_fmt,
            "setup": base64.b64encode(file.streams.video[0].codec_context.extradata or b"").decode(),
            "packets": [[p.pts, int(p.is_keyframe), base64.b64encode(bytes(p)).decode()] for p in packets],
        }


def hashes(ffmpeg: str, video: Path) -> list[str]:
    """The MD5 of each frame."""
    run = [ffmpeg, "-v", "error", "-i", str(video), "-fps_mode", "passthrough", "-f", "framemd5", "-"]
    out = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    return [line.split(",")[-1].strip() for line in out.splitlines() if not line.startswith("#")]


def without_vui(setup: bytes) -> bytes:
    """An avcC of the main profile whose parameters do not say how many frames a decoder must hold back."""
    size = int.from_bytes(setup[6:8], "big")
    parameters, rest = setup[8 : 8 + size], setup[8 + size :]
    bits = "".join(f"{b:08b}" for b in parameters[1:].replace(b"\0\0\3", b"\0\0"))
    at = 24

    def number() -> int:
        nonlocal at
        zeros = bits.index("1", at) - at
        at += 2 * zeros + 1
        return int(bits[at - zeros - 1 : at], 2) - 1

    number()  # seq_parameter_set_id
    number()  # log2_max_frame_num_minus4
    if number() == 0:  # pic_order_cnt_type
        number()
    number()  # max_num_ref_frames
    at += 1  # gaps_in_frame_num_value_allowed_flag
    number(), number()  # width and height
    at += 2  # frame_mbs_only_flag, direct_8x8_inference_flag
    at += 1
    if bits[at - 1] == "1":  # frame_cropping_flag
        number(), number(), number(), number()
    short = bits[:at] + "01"
    short += "0" * (-len(short) % 8)
    new = parameters[:1] + bytes(int(short[i : i + 8], 2) for i in range(0, len(short), 8))
    return setup[:6] + len(new).to_bytes(2, "big") + new + rest


if __name__ == "__main__":
    main()
