"""Names, paths and addresses of datasets."""

from __future__ import annotations

from pathlib import Path

import deeplake
import pytest
from deeplake._stores import uri as _uri


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with nothing set up."""
    for name in ("DEEPLAKE_ROOTS", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_name_works_with_nothing_set_up(home):
    deeplake.create("deeplake://me/flowers").close()
    assert deeplake.exists("deeplake://me/flowers")
    assert deeplake.exists(home / ".local/share/deeplake/me/flowers")


def test_xdg_folders(home, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert _uri.resolve("deeplake://me/x") == "/data/deeplake/me/x"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert _uri.resolve("deeplake://me/x") == f"{home}/.local/share/deeplake/me/x"


def test_roots_come_from_the_file_and_the_environment(home, monkeypatch):
    config = home / ".config/deeplake/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[roots]\nacme = "/srv/acme/"\nother = "mem://other"\nhomely = "~/sets"\n')
    assert _uri.resolve("deeplake://acme/x") == "/srv/acme/x"
    assert _uri.resolve("deeplake://other/x") == "mem://other/x"
    assert _uri.resolve("deeplake://homely/x") == f"{home}/sets/x"
    monkeypatch.setenv("DEEPLAKE_ROOTS", "acme=/elsewhere; third = s3://bucket/prefix ;")
    assert _uri.resolve("deeplake://acme/x") == "/elsewhere/x"
    assert _uri.resolve("deeplake://third/x") == "s3://bucket/prefix/x"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[roots\n", "config.toml"),
        ("[rots]\n", 'unknown key "rots"; did you mean "roots"'),
        ("[roots]\nacme = 3\n", "under \\[roots\\]"),
        ('[roots]\nacme = "relative"\n', "want an absolute path"),
    ],
)
def test_a_bad_configuration_is_named(home, text, wrong):
    config = home / ".config/deeplake/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(text)
    with pytest.raises(deeplake.InvalidArgumentError, match=wrong):
        _uri.resolve("deeplake://acme/x")


def test_bad_roots_in_the_environment(home, monkeypatch):
    monkeypatch.setenv("DEEPLAKE_ROOTS", "acme")
    with pytest.raises(deeplake.InvalidArgumentError, match='got "acme", want org=root'):
        _uri.resolve("deeplake://acme/x")


@pytest.mark.parametrize(
    "uri",
    ["deeplake://", "deeplake://org", "deeplake://org/", "deeplake://org/a/b", "deeplake://../x", "deeplake://o/..",
     "deeplake://o/.hidden", "deeplake://o/a b", "deeplake:///x", "deeplake://o/\N{LATIN SMALL LETTER E WITH ACUTE}"],
)  # fmt: skip
def test_bad_names(uri):
    with pytest.raises(deeplake.InvalidArgumentError, match="want deeplake://org/name"):
        deeplake.open(uri)


@pytest.mark.parametrize("uri", ["", "a\0b", 3, None, b"bytes"])
def test_bad_uris(uri):
    with pytest.raises(deeplake.InvalidArgumentError, match="resolve uri"):
        deeplake.exists(uri)


def test_paths_do_not_depend_on_the_folder_later(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ds = deeplake.create("here")
    assert ds.uri == str(Path.cwd() / "here")
    monkeypatch.chdir("/")
    assert len(deeplake.open(ds.uri)) == 0


def test_paths_of_all_kinds(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    deeplake.create(tmp_path / "set").close()
    for uri in (tmp_path / "set", str(tmp_path / "set"), f"file://{tmp_path}/set", "~/set", Path("~/set")):
        assert deeplake.exists(uri)


def test_a_store_that_nobody_knows_is_named_with_those_that_are():
    with pytest.raises(deeplake.UnsupportedError, match=r'scheme "s33".*gs.*s3.*did you mean "s3"'):
        deeplake.open("s33://bucket/x")
