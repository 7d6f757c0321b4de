"""The modules of the package import each other in one direction, late imports included."""

from __future__ import annotations

import ast
from pathlib import Path

import deeplake

PACKAGE = Path(deeplake.__file__).parent


def _imported(tree: ast.AST, modules: set[str]) -> set[str]:
    """Returns the modules of the package that a file imports at run time, at any depth."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found |= {name for part in node.orelse for name in _imported(part, modules)}
            continue
        if isinstance(node, ast.Import):
            names = [alias.name.removeprefix("deeplake.") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "deeplake":
            names = [alias.name for alias in node.names]
            # A name of the package itself is an import of its whole table.
            found |= {"__init__"} if set(names) - modules else set()
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "want absolute imports"
            names = [(node.module or "").removeprefix("deeplake.")]
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


def test_late_imports_count() -> None:
    late = ast.parse("def f():\n    from deeplake._b import x\n")
    assert _imported(late, {"_a", "_b"}) == {"_b"}
    assert _imported(ast.parse("import deeplake"), {"_a"}) == {"__init__"}
    assert _imported(ast.parse("from deeplake import open"), {"_a"}) == {"__init__"}
    typed = ast.parse("if TYPE_CHECKING:\n    from deeplake._b import x\n")
    assert _imported(typed, {"_b"}) == set()
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
