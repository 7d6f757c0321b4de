"""Makes the files of core/media/mp4/testdata and core/media/matroska/testdata, each beside what FFmpeg says about it.

    python -m venv /tmp/media && /tmp/media/bin/pip install imageio-ffmpeg==0.8.1 av==18.1.0
    /tmp/media/bin/python tools/media.py [name ...]

`name.mp4` (or `.mov`) comes with `name.mp4.json`: the track, its packets in the order of decoding as (place, bytes,
key, time without the edit list), and the shown ones as (place, time). For `.mkv` and `.webm` the shown ones are the
times of decoded frames. A file that must be refused has no JSON.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import av
import imageio_ffmpeg

MEDIA = Path(__file__).resolve().parent.parent / "core" / "media"
X264 = "-c:v libx264 -preset medium -crf 40 -threads 1 -pix_fmt yuv420p"
GOP12 = f"{X264} -bf 3 -g 12"
VIDEO = "-f lavfi -i testsrc2=size=64x48:rate=25"
AUDIO = "-f lavfi -i sine=frequency=440:sample_rate=16000"
AAC = "-c:a aac -b:a 8k"
X265 = "-c:v libx265 -tag:v hvc1 -pix_fmt yuv420p"
AV1 = "-c:v libsvtav1 -preset 10 -crf 60 -svtav1-params lp=1"
VP9 = "-c:v libvpx-vp9 -b:v 0 -crf 60 -g 10 -threads 1"
KEY = "00112233445566778899aabbccddeeff"
BT709 = "color_primaries=bt709:color_trc=bt709:colorspace=bt709"
BT601 = "color_primaries=smpte170m:color_trc=bt709:colorspace=smpte170m"
VP8 = "-c:v libvpx -b:v 20k -g 30 -threads 1"

# The arguments of FFmpeg for each file. "@name" is the path of a file made before. Files whose
# names begin with "_" are not kept.
CASES = {
    "h264.mp4": f"{VIDEO} {GOP12} -frames:v 40",
    "faststart.mp4": f"{VIDEO} {GOP12} -frames:v 20 -movflags faststart",
    "gop250.mp4": f"{VIDEO} {X264} -g 250 -bf 2 -frames:v 260 -vf scale=32:32",
    "gop2.mp4": f"{VIDEO} {X264} -g 2 -bf 0 -frames:v 20",
    "hevc_open.mp4": f"{VIDEO} {X265} -frames:v 40 -x265-params "
    "open-gop=1:keyint=12:min-keyint=12:bframes=3:crf=40:pools=1:frame-threads=1:info=0",
    "h264_open.mp4": f"{VIDEO} {GOP12} -x264-params open-gop=1 -frames:v 40",
    "av1.mp4": f"{VIDEO} {AV1} -g 2 -frames:v 12",
    "av1_long.mp4": f"{VIDEO} {AV1} -frames:v 30",
    "vp9.mp4": f"{VIDEO} {VP9} -frames:v 24",
    "vfr.mp4": f"{VIDEO} {GOP12} -vf \"select='not(mod(n,3))+not(mod(n,5))'\" -fps_mode vfr -frames:v 30",
    "rate.mp4": f"-f lavfi -i testsrc2=size=64x48:rate=30000/1001 {GOP12} -frames:v 30",
    "_long.mp4": f"{VIDEO} {GOP12} -frames:v 80",
    "cut.mp4": "-ss 0.6 -i @_long.mp4 -c copy",
    "cut_end.mp4": "-ss 0.6 -i @_long.mp4 -t 0.9 -c copy",
    "cut_between.mp4": "-ss 0.615 -i @_long.mp4 -t 0.9 -c copy",
    "cut.mov": "-ss 0.7 -i @_long.mp4 -t 1 -c copy",
    "turned.mp4": "-display_rotation 90 -i @faststart.mp4 -c copy",
    "turned_back.mp4": "-display_rotation -90 -i @faststart.mp4 -c copy",
    "turned_half.mov": "-display_rotation 180 -i @faststart.mp4 -c copy",
    "frag.mp4": "-i @h264.mp4 -c copy -movflags frag_keyframe+empty_moov",
    "frag_base.mp4": "-i @h264.mp4 -c copy -movflags frag_keyframe+empty_moov+default_base_moof",
    "frag_first.mp4": "-i @h264.mp4 -c copy -movflags frag_keyframe",
    "frag_cut.mp4": "-ss 0.6 -i @h264.mp4 -c copy -movflags frag_keyframe+delay_moov",
    "frag_dash.mp4": "-i @h264.mp4 -c copy -movflags frag_every_frame+delay_moov+dash+global_sidx",
    "audio.mp4": f"{AUDIO} {VIDEO} {GOP12} {AAC} -frames:v 30 -shortest",
    "frag_audio.mp4": "-i @audio.mp4 -map 0 -c copy -movflags frag_keyframe+empty_moov+omit_tfhd_offset",
    "frag_both.mp4": "-i @audio.mp4 -map 0 -c copy -movflags frag_keyframe+delay_moov+separate_moof",
    "late.mp4": f"-itsoffset 0.3 {VIDEO} {AUDIO} {GOP12} {AAC} -frames:v 20 -shortest -map 0:v -map 1:a",
    "two.mp4": f"{VIDEO} {VIDEO} -map 0 -map 1 {GOP12} -s:v:1 32x32 -frames:v 12",
    "negative.mp4": "-i @h264.mp4 -c copy -movflags negative_cts_offsets",
    "no_edits.mp4": "-i @h264.mp4 -c copy -use_editlist 0",
    "color.mp4": f"{VIDEO} {GOP12} -frames:v 8 -vf setparams=range=pc:{BT709}",
    "color.mov": f"{VIDEO} {GOP12} -frames:v 8 -vf setparams={BT601}",
    "mpeg4.mp4": f"{VIDEO} -c:v mpeg4 -q:v 20 -bf 2 -g 12 -frames:v 20",
    "mjpeg.mov": f"{VIDEO} -c:v mjpeg -q:v 31 -pix_fmt yuvj420p -frames:v 4",
    "mjpeg.mp4": f"{VIDEO} -c:v mjpeg -q:v 31 -pix_fmt yuvj420p -frames:v 4",
    "h264.mkv": f"{VIDEO} {GOP12} -frames:v 40",
    "hevc.mkv": "-i @hevc_open.mp4 -c copy",
    "av1.mkv": "-i @av1.mp4 -c copy",
    "av1.webm": f"{VIDEO} {AV1} -frames:v 30",
    "vp9.webm": f"{VIDEO} {VP9} -frames:v 24",
    "live.webm": "-i @vp9.webm -c copy -live 1 -cluster_time_limit 300",
    "dash.webm": "-i @vp9.webm -c copy -dash 1 -cluster_time_limit 200",
    "live.mkv": "-i @h264.mkv -c copy -live 1 -cluster_time_limit 300",
    "clusters.mkv": "-i @h264.mkv -c copy -cluster_size_limit 200 -cues_to_front 1",
    "reserved.mkv": "-i @h264.mkv -c copy -reserve_index_space 300 -write_crc32 0",
    "groups.mkv": "-i @h264.mkv -c copy -cluster_time_limit 300",
    "alpha.webm": f"{VIDEO} {VP8} -pix_fmt yuva420p -auto-alt-ref 0 -frames:v 8",
    # Pass 1 writes the statistics that pass 2 reads.
    "_pass.webm": f"{VIDEO} {VP8} -frames:v 90 -auto-alt-ref 1 -lag-in-frames 16 -pass 1",
    "vp8.webm": f"{VIDEO} {VP8} -frames:v 90 -auto-alt-ref 1 -lag-in-frames 16 -pass 2",
    "vfr.mkv": f"{VIDEO} {GOP12} -vf \"select='not(mod(n,3))+not(mod(n,5))'\" -fps_mode vfr -frames:v 30",
    "rate.mkv": f"-f lavfi -i testsrc2=size=64x48:rate=30000/1001 {GOP12} -frames:v 30",
    "audio.mkv": f"{AUDIO} {VIDEO} {GOP12} -c:a libopus -b:a 8k -frames:v 30 -shortest",
    "late.mkv": f"-itsoffset 0.3 {VIDEO} {AUDIO} {GOP12} {AAC} -frames:v 20 -shortest -map 0:v -map 1:a",
    "two.mkv": f"{VIDEO} {VIDEO} -map 0 -map 1 {GOP12} -s:v:1 32x32 -frames:v 12",
    "turned.mkv": "-display_rotation 90 -i @faststart.mp4 -c copy",
    "turned_back.mkv": "-display_rotation -90 -i @faststart.mp4 -c copy",
    "turned_half.mkv": "-display_rotation 180 -i @faststart.mp4 -c copy",
    "color.mkv": f"{VIDEO} {GOP12} -frames:v 8 -vf setparams=range=pc:{BT709}",
    "color.webm": f"{VIDEO} {VP9} -frames:v 4 -vf setparams={BT601}",
    "mpeg4.mkv": f"{VIDEO} -c:v mpeg4 -q:v 20 -bf 2 -g 12 -frames:v 20",
    "mjpeg.mkv": f"{VIDEO} -c:v mjpeg -q:v 31 -pix_fmt yuvj420p -frames:v 4",
    # Refused.
    "sound.mka": f"{AUDIO} {AAC} -t 0.3 -f matroska",
    "prores.mkv": f"{VIDEO} -c:v prores_ks -qscale:v 31 -frames:v 1",
    "encrypted.mp4": f"{VIDEO} {GOP12} -frames:v 6 -encryption_scheme cenc-aes-ctr "
    f"-encryption_key {KEY} -encryption_kid {KEY}",
    "sound.mp4": f"{AUDIO} {AAC} -t 0.3",
    "prores.mov": f"{VIDEO} -c:v prores_ks -qscale:v 31 -frames:v 1",
}
REFUSED = {"encrypted.mp4", "sound.mp4", "prores.mov", "sound.mka", "prores.mkv"}
MATROSKA = (".mkv", ".mka", ".webm")


def make(name: str, folder: Path) -> Path:
    """Makes a file in the folder, if it is not there."""
    path = folder / name
    if not path.exists():
        arguments = [str(make(a[1:], folder)) if a.startswith("@") else a for a in shlex.split(CASES[name])]
        quiet = ["-hide_banner", "-loglevel", "error", "-y", "-fflags", "+bitexact"]
        bare = ["-map_metadata", "-1", "-flags", "+bitexact", "-fflags", "+bitexact"]
        subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), *quiet, *arguments, *bare, str(path)], check=True, cwd=folder)
        if name == "groups.mkv":
            path.write_bytes(grouped(path.read_bytes()))
    return path


def grouped(data: bytes) -> bytes:
    """Returns a file of Matroska with a BlockGroup in the place of each SimpleBlock, and no sizes of clusters."""
    out, at, cluster = bytearray(), 0, 0

    def number() -> bytes:
        nonlocal at
        width = 9 - data[at].bit_length()
        at += width
        return data[at - width : at]

    def sized(kind: str, body: bytes | bytearray) -> bytes:
        return bytes.fromhex(kind) + (len(body) | 1 << 28).to_bytes(4, "big") + body

    while at < len(data):
        begin = at
        kind, size = number(), number()
        if kind.hex() in ("18538067", "1f43b675"):  # a segment, a cluster
            cluster += kind.hex() == "1f43b675"
            out += kind + b"\xff"
            continue
        at += int.from_bytes(size, "big") & ((1 << 7 * len(size)) - 1)
        if kind == b"\xa3":
            block = bytearray(data[begin + len(kind + size) : at])
            reference = b"" if block[3] & 0x80 else sized("fb", b"\xd8") + sized("fb", b"\x28")
            block[3] &= 0x7F
            duration = sized("9b", b"\x28") if cluster != 2 else b""
            out += sized("a0", duration + sized("a1", block) + reference)
        else:
            out += data[begin:at]
    return bytes(out)


def packets(path: Path, options: dict[str, str]) -> list[Any]:
    with av.open(str(path), options=options) as file:
        return [p for p in file.demux(file.streams.video[0]) if p.size]


def told(path: Path) -> dict[str, Any]:
    """Returns what FFmpeg says about the first track of pictures."""
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        context = stream.codec_context
        setup = bytes(context.extradata or b"")
        out: dict[str, Any] = {
            "codec": context.name,
            "setup": len(setup) and [len(setup), hashlib.sha256(setup).hexdigest()[:16]],
            "size": [context.width, context.height],
            "ticks": [stream.time_base.numerator, stream.time_base.denominator],
            "color": [context.color_primaries, context.color_trc, context.colorspace, context.color_range],
        }
    with av.open(str(path)) as file:
        frames = list(file.decode(video=0))
        out["turns"] = round(-frames[0].rotation / 90) % 4
    if path.suffix in MATROSKA:
        out["packets"] = [[inside(path, p), p.size, int(p.is_keyframe), p.pts] for p in packets(path, {})]
        out["shown"] = [frame.pts for frame in frames]
        return out
    out["packets"] = [[p.pos, p.size, int(p.is_keyframe), p.pts] for p in packets(path, {"ignore_editlist": "1"})]
    out["shown"] = [[p.pos, p.pts] for p in packets(path, {}) if not p.is_discard]
    return out


def inside(path: Path, packet: Any) -> int:
    """Returns where the bytes of a packet are. FFmpeg says where the head of their block is, of 4 bytes."""
    place = packet.pos + 4
    if path.read_bytes()[place : place + packet.size] != bytes(packet):
        raise ValueError(f"{path}: the packet at {packet.pos} has other bytes")
    return int(place)


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names or CASES:
            path = make(name, Path(folder))
            if name.startswith("_"):
                continue
            target = MEDIA / ("matroska" if path.suffix in MATROSKA else "mp4") / "testdata"
            target.mkdir(exist_ok=True)
            data = path.read_bytes()
            (target / name).write_bytes(data)
            text = ""
            if name not in REFUSED:
                text = json.dumps(told(path), separators=(",", ":")) + "\n"
                (target / f"{name}.json").write_text(text)
            print(f"{name}: {len(data)} bytes, {len(text)} of JSON", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
