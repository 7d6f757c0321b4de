"""The command line, as a user runs it: in a process of its own, with files and pipes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture, resized
from PIL import Image


@pytest.fixture
def home(tmp_path):
    """An environment with nothing set up."""
    home = tmp_path / "home"
    home.mkdir()
    hidden = ("DEEPLAKE_ROOTS", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "HOME": str(home), "COLUMNS": "120"}


@pytest.fixture
def cli(home, tmp_path):
    def run(*args, check=True, stdin=subprocess.DEVNULL):
        done = subprocess.run(
            [sys.executable, "-m", "deeplake", *map(str, args)],
            capture_output=True, text=True, env=home, cwd=tmp_path, timeout=120, check=False, stdin=stdin,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def flowers(tmp_path):
    """Twelve pictures in two classes, and a text among them."""
    for i in range(12):
        folder = tmp_path / "flowers" / ("rose" if i % 2 else "daisy")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:02}.jpg").write_bytes(encoded(picture(i)))
    (tmp_path / "flowers" / "rose" / "notes.txt").write_text("no picture")
    return tmp_path / "flowers"


def test_the_two_lines_of_the_readme(cli, flowers, home, monkeypatch):
    done = cli("create", "deeplake://me/flowers", "from-./flowers")
    assert "12 rows in 2 classes" in done.stdout and "notes.txt" in done.stdout and done.stderr == ""
    monkeypatch.setenv("HOME", home["HOME"])
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("DEEPLAKE_ROOTS", raising=False)
    ds = deeplake.open("deeplake://me/flowers")
    assert len(ds) == 12 and ds["labels"].class_names == ["daisy", "rose"]
    files = sorted(flowers.rglob("*.jpg"))
    assert [ds["images"].bytes(i) for i in range(12)] == [path.read_bytes() for path in files], "verbatim"


@pytest.mark.parametrize("form", [["from-{}"], ["--from", "{}"], ["--from={}"]])
def test_every_form_of_a_source(cli, flowers, tmp_path, form):
    done = cli("create", tmp_path / "set", *[part.format(flowers) for part in form], "--json")
    report = json.loads(done.stdout)
    assert (report["rows"], report["skipped"], report["complete"], report["classes"]) == (
        12,
        1,
        True,
        ["daisy", "rose"],
    )
    assert report["skips"][0]["path"].endswith("notes.txt")


def test_create_options(cli, flowers, tmp_path):
    cli("create", tmp_path / "set", f"from-{flowers}", "--compression", "png", "--workers", "1", "--checkpoint", "5")
    ds = deeplake.open(tmp_path / "set")
    assert ds["images"].compression == "png" and len(ds) == 12
    done = cli("create", tmp_path / "set", check=False)
    assert done.returncode == 1 and done.stderr.startswith("deeplake: ") and done.stderr.count("\n") == 1
    assert cli("create", tmp_path / "set", "--overwrite").stdout == f"created {tmp_path / 'set'}, empty\n"


def test_classes_in_order(cli, tmp_path):
    for i in range(1, 12):
        (tmp_path / "digits" / str(i)).mkdir(parents=True)
        (tmp_path / "digits" / str(i) / "x.jpg").write_bytes(encoded(picture(i)))
    cli("create", tmp_path / "natural", "from-digits")
    assert deeplake.open(tmp_path / "natural")["labels"].class_names == [str(i) for i in range(1, 12)]
    (tmp_path / "names.txt").write_bytes(b"\xef\xbb\xbf11\r\n3\r\n\r\nabsent\r\n")
    for name, classes in (("list", "11, 3,absent"), ("file", "@names.txt")):
        report = json.loads(cli("create", tmp_path / name, "from-digits", "--classes", classes, "--json").stdout)
        assert (report["rows"], report["skipped"], report["classes"]) == (2, 9, ["11", "3", "absent"])
        ds = deeplake.open(tmp_path / name)
        assert ds["images"].bytes([0, 1]) == [encoded(picture(11)), encoded(picture(3))]
        assert ds["labels"].numpy().ravel().tolist() == [0, 1]
    for args, wrong in (
        (("--classes", "@absent.txt"), "absent.txt cannot be read"),
        (("--classes", "1,,2"), 'the name ""'),
        (("--classes", "1,2", "--labels", "none"), "leave one of them out"),
        (("--classes", "7,8"), "classes=[11 3 absent]"),
    ):
        done = cli("create", tmp_path / "list", "from-digits", *args, check=False)
        assert done.returncode in (1, 2) and wrong in done.stderr, done.stderr


@pytest.mark.parametrize("link", [[], ["--link"]])
def test_links_out_of_the_source(cli, flowers, tmp_path, link):
    shop = tmp_path / "shop"
    (shop / "rose").mkdir(parents=True)
    (shop / "rose" / "00.jpg").write_bytes(encoded(picture(0)))
    (shop / "rose" / "01.jpg").symlink_to("00.jpg")
    (shop / "rose" / "02.jpg").symlink_to(flowers / "rose" / "01.jpg")
    (shop / "daisy").symlink_to(flowers / "daisy")
    report = json.loads(cli("create", tmp_path / "set", "from-shop", "--json", *link).stdout)
    assert (report["rows"], report["classes"]) == (2, ["rose"])
    assert [skip["path"] for skip in report["skips"]] == ["daisy/", "rose/02.jpg"]
    assert all("--follow-links" in skip["reason"] for skip in report["skips"])
    report = json.loads(cli("create", tmp_path / "all", "from-shop", "--follow-links", "--json", *link).stdout)
    assert (report["rows"], report["skipped"], report["classes"]) == (9, 0, ["daisy", "rose"])
    want = [encoded(picture(i)) for i in (0, 2, 4, 6, 8, 10, 0, 0, 1)]
    assert deeplake.open(tmp_path / "all")["images"].bytes(list(range(9))) == want


def test_reports_of_a_second_run(cli, flowers, tmp_path):
    """Each run says what it did: the counts of its report are those of the rows and files."""
    keys = ("rows", "added", "updated", "unchanged", "converted", "codec", "lossy")

    def run(*options):
        text = cli("create", "set", "from-flowers", *options).stdout
        return text.split("\n")[:-1], text

    lines, _ = run("--compression", "auto")
    assert (
        lines[0].startswith("created ") and "12 rows in 2 classes" in lines[0] and "encoded again" not in "".join(lines)
    )
    lines, _ = run()
    assert lines[0].startswith("unchanged ")
    assert lines[1] == "  0 rows added, 0 replaced; 12 files were known and have not changed"
    (flowers / "rose" / "new.png").write_bytes(encoded(picture(20), "PNG"))
    (flowers / "daisy" / "00.jpg").write_bytes(encoded(picture(21)))
    lines, _ = run()
    assert lines[0].startswith("updated ") and "13 rows" in lines[0]
    assert lines[1] == "  1 rows added, 1 replaced; 11 files were known and have not changed"
    assert lines[2] == (
        "  1 files were decoded and encoded again as jpeg, which is lossy: pixels changed; --compression png keeps them"
    )
    with deeplake.open(tmp_path / "set") as ds:
        ds.delete([0, 3])
        ds.commit("curated")
    for _ in range(2):
        lines, _ = run()
        assert lines[0].startswith("unchanged ") and "11 rows" in lines[0]
        assert lines[1] == "  0 rows added, 0 replaced; 11 files were known and have not changed"
        assert lines[2] == "  2 files were left out: their rows were deleted; --overwrite takes them in again"
    report = json.loads(cli("create", "copy", "from-flowers", "--compression", "png", "--json").stdout)
    assert [report[key] for key in keys] == [13, 13, 0, 0, 12, "png", 0]
    ds = deeplake.open(tmp_path / "copy")
    assert np.array_equal(ds["images"][0], np.asarray(Image.open(flowers / "daisy" / "00.jpg"))), "lossless"
    lines = cli("create", "third", "from-flowers", "--compression", "png").stdout.split("\n")
    assert lines[1] == "  12 files were decoded and encoded again as png, which is lossless: no pixel changed"
    report = json.loads(cli("create", "fourth", "from-flowers", "--compression", "webp", "--json").stdout)
    assert [report[key] for key in keys] == [13, 13, 0, 0, 13, "webp", 0]


def test_cut_files(cli, tmp_path):
    whole, cut = encoded(picture(0)), encoded(picture(1))[:-30]
    (tmp_path / "shop").mkdir()
    for i, file in enumerate((whole, cut)):
        (tmp_path / "shop" / f"{i}.jpg").write_bytes(file)
    done = cli("create", tmp_path / "set", "from-shop")
    assert "1 rows" in done.stdout and "1.jpg: " in done.stdout and "end-of-image" in done.stdout
    report = json.loads(cli("create", tmp_path / "set", "from-shop", "--on-error", "accept", "--json").stdout)
    assert (report["rows"], report["added"], report["accepted"], report["skipped"]) == (2, 1, 1, 0)
    done = cli("create", tmp_path / "all", "from-shop", "--on-error", "accept")
    assert "1 JPEG files are cut, and stored as they are" in done.stdout
    with deeplake.open(tmp_path / "all") as ds:
        assert ds["images"].bytes([0, 1]) == [whole, cut]
        loader = ds.batches(2, on_error="accept")
        assert next(iter(loader))["images"].shape == (2, 24, 32, 3) and loader.stats()["accepted"] == 1
        with pytest.raises(deeplake.CorruptError):
            list(ds.batches(2))


def test_looking_at_datasets(cli, flowers, tmp_path):
    uri = tmp_path / "sets" / "flowers"
    cli("create", uri, f"from-{flowers}")
    assert json.loads(cli("ls", tmp_path / "sets", "--json").stdout) == [{"uri": str(uri), "rows": 12}]
    assert str(uri) in cli("ls", tmp_path / "sets").stdout
    assert [t["name"] for t in json.loads(cli("ls", uri, "--json").stdout)][:2] == ["images", "labels"]
    assert "images" in cli("ls", uri).stdout
    info = json.loads(cli("info", uri, "--json").stdout)
    assert info["rows"] == 12 and info["head"]["rows"] == 12
    assert "rows     12" in cli("info", uri).stdout
    commits = json.loads(cli("log", uri, "--json").stdout)
    assert commits[0]["rows"] == 12
    assert len(json.loads(cli("log", uri, "-n", 1, "--json").stdout)) == 1
    assert commits[0]["commit"][:8] in cli("log", uri).stdout
    rows = json.loads(cli("head", uri, "-n", 3, "--json").stdout)
    assert [row["labels"] for row in rows] == ["daisy"] * 3 and rows[0]["images"] == "uint8 (24, 32, 3)"
    assert "daisy" in cli("head", uri).stdout


def test_ls_below_and_beside(cli, flowers, tmp_path):
    for place in ("sets/b", "sets/deep/er/a", "sets/.hidden/c", "sets/1/2/3/4/d"):
        cli("create", place)
    (tmp_path / "sets" / "link").symlink_to(tmp_path / "sets" / "deep")
    found = json.loads(cli("ls", "sets", "--json").stdout)
    assert [entry["uri"] for entry in found] == [str(tmp_path / "sets" / name) for name in ("b", "deep/er/a")]
    (tmp_path / "sets" / "empty").mkdir()
    done = cli("ls", "sets/empty")
    assert done.stdout.split("\n")[:2] == ["  nothing", f"  datasets beside it: {tmp_path / 'sets' / 'b'}"]
    assert json.loads(cli("ls", "sets/empty", "--json").stdout) == []
    many = tmp_path / "many"
    for i in range(1001):
        (many / f"{i:04}").mkdir(parents=True)
    cli("create", "many/1000/d")
    done = cli("ls", "many")
    assert "1000/d" not in done.stdout and f"`deeplake ls {many / '0999'}` goes on there" in done.stdout


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["in"], ["plain,info"]),
        (["info", "fl"], ["dir,fl"]),
        (["create", "x", "fr"], ["plain,from-"]),
        (["create", "x", "from-"], ["plain,from-flowers", "plain,from-home"]),
        (["create", "x", "from-./flowers/"], ["plain,from-./flowers/daisy", "plain,from-./flowers/rose"]),
        (["create", "x", "from-flowers/r"], ["plain,from-flowers/rose"]),
        (["create", "x", "from-nowhere/"], []),
        (["create", "x", "--compression", "w"], ["plain,webp"]),
        (["info", "deeplake://m"], ["plain,deeplake://me/"]),
        (["info", "deeplake://me/f"], ["plain,deeplake://me/fine", "plain,deeplake://me/flowers"]),
        (["info", "deeplake://none/"], []),
    ],
)
def test_completion(home, flowers, tmp_path, words, want):
    for name in ("flowers", "fine", "other"):
        (tmp_path / "home" / ".local/share/deeplake/me" / name).mkdir(parents=True)
    asked = {
        "_DEEPLAKE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["deeplake", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "deeplake"],
        env={**home, **asked},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout.split(), done.stderr) == (want, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_programs(cli, shell):
    program = cli("completion", shell).stdout
    assert f"_DEEPLAKE_COMPLETE={shell}_complete" in program
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=program, text=True, check=False).returncode == 0


def test_ls_of_names(cli, flowers):
    assert json.loads(cli("ls", "--json").stdout) == []
    cli("create", "deeplake://me/a", f"from-{flowers}")
    cli("create", "deeplake://you/b")
    assert json.loads(cli("ls", "--json").stdout) == [
        {"uri": "deeplake://me/a", "rows": 12},
        {"uri": "deeplake://you/b", "rows": 0},
    ]


def test_other_versions(cli, tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "int64"}}) as ds:
        for i in range(2):
            ds.append({"x": i})
            ds.commit()
    assert json.loads(cli("info", tmp_path / "set", "--at", "1", "--json").stdout)["rows"] == 1
    assert json.loads(cli("head", tmp_path / "set", "--at", "main@1", "--json").stdout) == [{"x": 0}]
    assert json.loads(cli("bench", tmp_path / "set", "--at", "1", "--json").stdout)["epochs"][0]["rows"] == 1
    assert "nothing" in cli("info", tmp_path / "set", "--at", "nothing", check=False).stderr


def test_ls_beside_a_damaged_dataset(cli, tmp_path):
    for name in ("good", "bad"):
        deeplake.create(tmp_path / "all" / name).close()
    (tmp_path / "all" / "bad" / "tsf.json").write_text("{")
    done = cli("ls", tmp_path / "all", check=False)
    assert done.returncode == 1 and "good  0" in done.stdout and "tsf.json" in done.stdout
    bad, good = json.loads(cli("ls", tmp_path / "all", "--json", check=False).stdout)
    assert bad["rows"] is None and "tsf.json" in bad["error"] and good["rows"] == 0


def test_a_damaged_picture(cli, tmp_path):
    with deeplake.create(
        tmp_path / "set", schema={"image": {"htype": "image", "compression": "png"}, "x": {"dtype": "int64"}}
    ) as ds:
        for i in range(4):
            file = encoded(picture(i, 64, 64), "PNG")
            ds.append({"image": deeplake.read(file if i != 2 else file[:60] + bytes(40) + file[100:]), "x": i})
        ds.commit()
    done = cli("head", tmp_path / "set", check=False)
    assert done.returncode == 1 and done.stdout.count("uint8 (64, 64, 3)") == 3 and "<CorruptError>" in done.stdout
    assert "1 sample" in done.stderr and "row 2" in done.stderr
    rows = json.loads(cli("head", tmp_path / "set", "--json", check=False).stdout)
    assert [row["x"] for row in rows] == [0, 1, 2, 3] and "png" in rows[2]["image"]["error"].lower()
    done = cli("bench", tmp_path / "set")
    assert "1 row" in done.stdout and "skipped" in done.stdout
    epoch = json.loads(cli("bench", tmp_path / "set", "--json").stdout)["epochs"][0]
    assert (epoch["rows"], epoch["skipped"]) == (3, 1)


def test_no_empty_dataset_among_images(cli, flowers, tmp_path):
    for place in (flowers, flowers / "daisy"):
        before = sorted(place.rglob("*"))
        done = cli("create", place, check=False)
        assert done.returncode == 2 and f"from-{place}" in done.stderr and sorted(place.rglob("*")) == before
    for option in (["--size", "32"], ["--decode"], ["--link"], ["--checkpoint", "5"]):
        done = cli("create", tmp_path / "set", *option, check=False)
        assert done.returncode == 2 and option[0] in done.stderr and not deeplake.exists(tmp_path / "set")


def test_an_output_without_letters(home, tmp_path):
    with deeplake.create(tmp_path / "set", schema={"word": "text"}) as ds:
        ds.append({"word": "日本 é"})
        ds.commit()
    for arguments in (["query", "set", "SELECT word"], ["query", "set", "SELECT word", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "deeplake", *arguments],
            capture_output=True, env={**home, "PYTHONIOENCODING": "latin-1"}, cwd=tmp_path, timeout=120, check=True,
        )  # fmt: skip
        text = done.stdout.decode("latin-1")
        assert "\\u65e5" in text
        if "--json" in arguments:
            assert json.loads(text) == [{"word": "日本 é"}]


def test_rm_asks(cli, tmp_path):
    deeplake.create(tmp_path / "set").close()
    done = cli("rm", tmp_path / "set", check=False)
    assert done.returncode == 2 and "--yes" in done.stderr and deeplake.exists(tmp_path / "set")
    cli("rm", tmp_path / "set", "--yes")
    assert not deeplake.exists(tmp_path / "set")
    done = cli("rm", tmp_path / "set", "--yes", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "there is no dataset" in done.stderr


@pytest.mark.parametrize(
    ("text", "params", "want"),
    [
        ("SELECT labels WHERE labels = :label LIMIT :n", ["label=rose", "n=2"], ["rose", "rose"]),
        ("SELECT labels WHERE labels IN :set LIMIT 1", ['set=["daisy"]'], ["daisy"]),
        ("SELECT 'a=b' = ? AS labels LIMIT 1", ["a=b"], [True]),
        ("SELECT labels LIMIT :n", ["2"], 'got "2", want NAME=VALUE for one of n'),
        ("SELECT labels LIMIT :n", ["n=1", "n=2"], "n has two values, 1 and '2'"),
        ("SELECT labels LIMIT :n", ["m=1"], 'there is no value for :n; did you mean "m"?'),
        ("SELECT labels LIMIT :n", [], "there is no value for :n"),
    ],
)
def test_parameters_of_a_query(cli, flowers, text, params, want):
    cli("create", "flowers-ds", "from-./flowers")
    options = [word for param in params for word in ("--param", param)]
    done = cli("query", "flowers-ds", text, "--json", *options, check=not isinstance(want, str))
    if isinstance(want, str):
        assert want in done.stderr and done.returncode in (1, 2)
    else:
        assert [row["labels"] for row in json.loads(done.stdout)] == want


@pytest.mark.parametrize(("answer", "there"), [(b"n\n", True), (b"y\n", False)])
def test_rm_on_a_terminal(tmp_path, home, answer, there):
    deeplake.create(tmp_path / "set").close()
    main, terminal = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "deeplake", "rm", str(tmp_path / "set")],
        stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home,
    )  # fmt: skip
    os.write(main, answer)
    child.communicate(timeout=60)
    os.close(main)
    os.close(terminal)
    assert deeplake.exists(tmp_path / "set") is there
    assert (child.returncode == 0) is not there


@pytest.mark.parametrize(
    ("args", "code", "wrong"),
    [
        (["info", "nowhere"], 1, "nowhere"),
        (["ls", "nowhere"], 1, "nowhere"),
        (["ls", "s3://bucket/x"], 1, "s3"),
        (["head", "deeplake://bad"], 1, "want deeplake://org/name"),
        (["create", "set", "from-nowhere"], 1, "nowhere"),
        (["create", "set", "./flowers"], 2, "want from-PATH"),
        (["create", "set", "from-"], 2, "want from-PATH"),
        (["create", "set", "from-a", "--from", "b"], 2, "once"),
        (["create", "set", "--compression", "gif"], 2, "gif"),
        (["create"], 2, "URI"),
        (["bench", "set", "--batch-size", "0"], 2, "batch-size"),
        (["creat"], 2, "creat"),
    ],
)
def test_errors_are_one_line(cli, args, code, wrong):
    done = cli(*args, check=False)
    assert done.returncode == code and wrong in done.stderr
    if code == 1:
        assert done.stderr.startswith("deeplake: ") and done.stderr.count("\n") == 1


def test_help_and_version(cli):
    assert cli("--version").stdout == f"deeplake, version {deeplake.__version__}\n"
    text = cli("--help").stdout
    assert all(command in text for command in ("create", "ls", "info", "log", "head", "rm", "bench"))
    assert "from-PATH" in cli("create", "-h").stdout


def test_a_closed_pipe_is_no_error(home, tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": list(range(20000))})
        ds.commit()
    command = f"{sys.executable} -m deeplake head {tmp_path / 'set'} -n 20000 | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=home, timeout=120, check=False)
    assert done.stdout.split()[:2] == ["row", "x"] and done.stderr == ""


def test_create_replaces_nothing_by_nothing(cli, flowers, tmp_path):
    cli("create", "set", "from-flowers")
    for name in ("empty", "shards"):
        (tmp_path / name).mkdir()
    (tmp_path / "shards" / "a.tar").write_bytes(bytes(1024))
    for source, words in [
        ("empty", ["empty", "no files"]),
        ("shards", [".tar: 1", "gives a row"]),
        ("set", ["same place"]),
    ]:
        done = cli("create", "set", f"from-{source}", "--overwrite", check=False)
        assert done.returncode == 1 and all(word in done.stderr for word in words), done.stderr
        done = cli("create", "new", f"from-{source}", check=False)
        assert done.returncode == 1 and not (tmp_path / "new").exists()
    assert len(deeplake.open(tmp_path / "set")) == 12


def test_create_imports_nothing_that_it_does_not_need(home, flowers, tmp_path):
    program = (
        "import sys; from deeplake._cli.main import cli; "
        f"cli.main(['create', {str(tmp_path / 'set')!r}, 'from-{flowers}'], standalone_mode=False); "
        "print([name for name in ('numpy', 'torch', 'rich', 'PIL') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=home, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_bar_on_a_terminal_only(home, flowers, tmp_path):
    main, terminal = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "deeplake", "create", str(tmp_path / "set"), f"from-{flowers}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal, env={**home, "TERM": "xterm"},
    )  # fmt: skip
    out, _ = child.communicate(timeout=60)
    os.close(terminal)
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert child.returncode == 0 and b"12 rows" in out and "files" in shown


@pytest.mark.slow
def test_an_interrupted_create_is_continued(home, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(3000):
        (folder / f"{i:05}.jpg").write_bytes(encoded(picture(i % 50, 120, 160)))
    command = [
        sys.executable,
        "-m",
        "deeplake",
        "create",
        str(tmp_path / "set"),
        f"from-{folder}",
        "--checkpoint",
        "200",
    ]
    child = subprocess.Popen(
        [*command, "--workers", "1", "--compression", "png"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=home,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        if deeplake.exists(tmp_path / "set") and len(deeplake.open(tmp_path / "set")) >= 200:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in err, (child.returncode, out, err)
    rows = len(deeplake.open(tmp_path / "set"))
    assert 200 <= rows < 3000
    done = subprocess.run(
        [*command, "--compression", "png", "--json"], capture_output=True, text=True, env=home, timeout=120, check=True
    )
    report = json.loads(done.stdout)
    assert report["rows"] == 3000 and report["resumed"] == rows and report["complete"]


def test_create_decodes(cli, tmp_path):
    """`--decode --size` stores squares of pixels, as Pillow makes them."""
    rng = np.random.default_rng(0)
    wanted = {}
    for name, shape in (("a", (40, 90, 3)), ("b", (77, 33, 3)), ("c", (32, 32, 3))):
        picture = Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8))
        (tmp_path / "src" / name).mkdir(parents=True)
        picture.save(tmp_path / "src" / name / "x.png")
        scale = 32 / min(picture.size)
        width, height = (32 if side == min(picture.size) else int(side * scale) for side in picture.size)
        small = resized(picture, (width, height), Image.Resampling.BILINEAR)
        left, top = round((width - 32) / 2), round((height - 32) / 2)
        wanted[name] = np.asarray(small.crop((left, top, left + 32, top + 32)))
    uri = str(tmp_path / "source")
    cli("create", uri, f"from-{tmp_path / 'src'}", "--decode", "--size", "32")
    ds = deeplake.open(uri)
    assert ds["images"].shape == (32, 32, 3)
    for batch in ds.batches(batch_size=3):
        for image, label in zip(batch["images"], batch["labels"], strict=True):
            assert np.array_equal(image, wanted["abc"[label]])
