"""The modules and folders of the package import each other in one direction, late imports included."""

from __future__ import annotations

import ast
from pathlib import Path

import deeplake

PACKAGE = Path(deeplake.__file__).parent

# The folders, from the lowest, and those that each may import. Every folder may import the files
# beside them, but for `tql` and the package itself. ARCHITECTURE.md says what each owns.
FOLDERS: dict[str, set[str]] = {
    "_stores": set(),
    "_samples": set(),
    "_rows": {"_stores", "_samples"},
    "_versions": {"_stores", "_rows"},
    "_query": {"_stores", "_rows", "_versions"},
    "_load": {"_samples", "_rows"},
    "_show": {"_stores", "_rows"},
    "_hosts": {"_rows", "_load"},
    "_engines": {"_stores", "_rows", "_query", "_load"},
    "_data": {"_stores", "_samples", "_rows", "_versions", "_query", "_load", "_show", "_hosts", "_engines"},
    "_compute": {"_stores", "_samples", "_rows", "_versions", "_load", "_data"},
    "_cli": {"_stores", "_rows", "_versions", "_query", "_load", "_show", "_data"},
}
MOST_FILES = 25


def _imported(tree: ast.AST, modules: set[str]) -> set[str]:
    """Returns the modules of the package that a file imports at run time, at any depth."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found |= {name for part in node.orelse for name in _imported(part, modules)}
            continue
        if isinstance(node, ast.Import):
            # Ray's own package is no module of ours, though one has its name.
            ours = [alias.name for alias in node.names if alias.name.partition(".")[0] == "deeplake"]
            names = [name.removeprefix("deeplake.") for name in ours]
        elif isinstance(node, ast.ImportFrom) and node.module == "deeplake":
            names = [alias.name for alias in node.names]
            # A name of the package itself is an import of its whole table.
            found |= {"__init__"} if set(names) - modules else set()
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "want absolute imports"
            if (node.module or "").partition(".")[0] != "deeplake":
                continue
            module = (node.module or "").removeprefix("deeplake.")
            inside = {f"{module}.{alias.name}" for alias in node.names} & modules
            found |= inside
            names = [] if inside else [module]
        else:
            found |= _imported(node, modules)
            continue
        found |= set(names) & modules
        found |= {"__init__"} & {"__init__" if name == "deeplake" else "" for name in names}
    return found


def _graph() -> dict[str, set[str]]:
    paths = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    sources = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    modules = {*sources, "_native"} - {"__init__"}
    return {name: _imported(ast.parse(path.read_text()), modules) for name, path in sources.items()}


def _circle(graph: dict[str, set[str]]) -> list[str]:
    """Returns the modules of one circle, [] if there is none."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if circle := visit(other, [*path, name]):
                return circle
        done.add(name)
        return []

    for name in sorted(graph):
        if circle := visit(name, []):
            return circle
    return []


def test_modules_import_each_other_in_one_direction() -> None:
    graph = _graph()
    assert len(graph) > 30
    assert _circle(graph) == []


def test_folders_import_lower_ones() -> None:
    order = list(FOLDERS)
    assert all(order.index(lower) < order.index(folder) for folder in order for lower in FOLDERS[folder])
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))} == set(FOLDERS)
    used: dict[str, set[str]] = {folder: set() for folder in FOLDERS}
    for name, imported in _graph().items():
        folder = name.partition(".")[0]
        if folder in FOLDERS:
            used[folder] |= {other.partition(".")[0] for other in imported} & FOLDERS.keys() - {folder}
    assert used == FOLDERS


def test_folders_are_small() -> None:
    for folder in [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]:
        assert len(list(folder.glob("*.py"))) <= MOST_FILES, folder


def test_late_imports_count() -> None:
    late = ast.parse("def f():\n    from deeplake._b import x\n")
    assert _imported(late, {"_a", "_b"}) == {"_b"}
    assert _imported(ast.parse("import deeplake"), {"_a"}) == {"__init__"}
    assert _imported(ast.parse("from deeplake import open"), {"_a"}) == {"__init__"}
    assert _imported(ast.parse("from deeplake._f import a, B"), {"_f", "_f.a"}) == {"_f.a"}
    assert _imported(ast.parse("import ray\nfrom ray import get"), {"ray"}) == set()
    assert _imported(ast.parse("import deeplake.ray"), {"ray"}) == {"ray"}
    typed = ast.parse("if TYPE_CHECKING:\n    from deeplake._b import x\n")
    assert _imported(typed, {"_b"}) == set()
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
