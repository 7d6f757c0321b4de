"""Conditions of Ray as conditions of TQL."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ray.data.expressions import BinaryExpr, ColumnExpr, Expr, LiteralExpr, Operation, UnaryExpr

_COMPARISONS = {
    Operation.EQ: "=",
    Operation.NE: "<>",
    Operation.LT: "<",
    Operation.LE: "<=",
    Operation.GT: ">",
    Operation.GE: ">=",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Ray compares with Arrow's kernels: an int64 beyond this is rounded beside a float.
_EXACT = 1 << 53


@dataclass(frozen=True)
class Scalar:
    """A column that conditions may name. Its kind is "int", "float", "float32", "bool", "text" or
    "label".
    """

    kind: str
    classes: tuple[str, ...] = ()


class UntranslatedError(Exception):
    """A condition, or a part of it, that TQL does not have in this form."""


def split(expr: Any, scalars: Mapping[str, Scalar]) -> tuple[str, list[Any], list[Any]]:
    """Returns the part of a condition that TQL can check, "" for none, its parameters, and the
    conditions that are left. A row meets expr if and only if it meets all of them.
    """
    texts: list[str] = []
    params: list[Any] = []
    left: list[Any] = []
    for part in _conjuncts(expr):
        try:
            text, values = condition(part, scalars)
        except UntranslatedError:
            left.append(part)
            continue
        texts.append(text)
        params += values
    return " AND ".join(texts), params, left


def _conjuncts(expr: Any) -> Iterator[Any]:
    if isinstance(expr, BinaryExpr) and expr.op == Operation.AND:
        yield from _conjuncts(expr.left)
        yield from _conjuncts(expr.right)
    else:
        yield expr


def condition(expr: Any, scalars: Mapping[str, Scalar]) -> tuple[str, list[Any]]:
    """Returns a condition in TQL, and the values of its parameters.

    It is true, false or NULL where Ray's is. Ray differs from SQL in three things: a NULL is in no
    list and not in every list; NaN is not above numbers; and any text may stand beside a label.

    Raises:
        UntranslatedError: TQL has no such condition.
    """
    if isinstance(expr, ColumnExpr):
        return _column(expr, scalars, "bool")[0], []
    if isinstance(expr, UnaryExpr):
        if expr.op == Operation.NOT:
            text, params = condition(expr.operand, scalars)
            return f"(NOT {text})", params
        if expr.op in (Operation.IS_NULL, Operation.IS_NOT_NULL):
            name, _ = _column(expr.operand, scalars)
            return f"({name} IS {'NOT ' * (expr.op == Operation.IS_NOT_NULL)}NULL)", []
    if isinstance(expr, BinaryExpr):
        if expr.op in (Operation.AND, Operation.OR):
            left, first = condition(expr.left, scalars)
            right, second = condition(expr.right, scalars)
            return f"({left} {'AND' if expr.op == Operation.AND else 'OR'} {right})", [*first, *second]
        if expr.op in (Operation.IN, Operation.NOT_IN):
            return _within(expr, scalars)
        if expr.op in _COMPARISONS:
            return _comparison(expr, scalars)
    raise UntranslatedError


def _comparison(expr: Any, scalars: Mapping[str, Scalar]) -> tuple[str, list[Any]]:
    operator, left, right = _COMPARISONS[expr.op], expr.left, expr.right
    if isinstance(left, LiteralExpr):
        operator, left, right = _MIRRORED.get(operator, operator), right, left
    name, about = _column(left, scalars)
    if not isinstance(right, LiteralExpr) or (about.kind in ("bool", "label") and operator not in ("=", "<>")):
        raise UntranslatedError
    value = _value(right.value, about.kind)
    if about.kind == "label" and value not in about.classes:
        return (f"({name} <> {name})" if operator == "=" else f"({name} = {name})"), []
    if about.kind.startswith("float") and operator in (">", ">="):
        return f"({name} {operator} ? AND NOT ISNAN({name}))", [value]
    return f"({name} {operator} ?)", [value]


def _within(expr: Any, scalars: Mapping[str, Scalar]) -> tuple[str, list[Any]]:
    name, about = _column(expr.left, scalars)
    if not isinstance(expr.right, LiteralExpr) or not isinstance(expr.right.value, list | tuple | set | frozenset):
        raise UntranslatedError
    values = [_value(value, about.kind) for value in expr.right.value]
    if about.kind.startswith("float") and 0.0 in values:
        raise UntranslatedError  # Arrow tells 0.0 from -0.0 in lists
    if about.kind == "label":
        values = [value for value in values if value in about.classes]
    negated = expr.op == Operation.NOT_IN
    if not values:
        return f"({name} IS NULL {'OR' if negated else 'AND'} {name} IS NOT NULL)", []
    listed = ", ".join("?" for _ in values)
    if negated:
        return f"({name} IS NULL OR NOT ({name} IN ({listed})))", values
    return f"({name} IS NOT NULL AND {name} IN ({listed}))", values


def _column(expr: Any, scalars: Mapping[str, Scalar], kind: str = "") -> tuple[str, Scalar]:
    about = scalars.get(expr.name) if isinstance(expr, ColumnExpr) else None
    if about is None or '"' in expr.name or (kind and about.kind != kind):
        raise UntranslatedError
    return f'"{expr.name}"', about


def _value(value: Any, kind: str) -> Any:
    """Returns a value that TQL compares with a column as Arrow does."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # of NumPy
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind in ("text", "label") and isinstance(value, str):
        return value
    if kind == "int" and is_int and -(1 << 63) <= value < 1 << 63:
        return value
    if kind.startswith("float") and is_int and -_EXACT <= value <= _EXACT:
        value = float(value)
    if not kind.startswith("float") or not isinstance(value, float) or not math.isfinite(value):
        raise UntranslatedError
    # TQL gives a number the dtype of the column, Arrow gives the column that of the number.
    if kind == "float32" and float(np.float32(value)) != value:
        raise UntranslatedError
    return value


def columns_of(expr: Any) -> set[str]:
    """Returns the names of the columns in a condition."""
    if isinstance(expr, ColumnExpr):
        return {str(expr.name)}
    parts: list[Any] = []
    if isinstance(expr, Expr) and dataclasses.is_dataclass(expr):
        parts = [getattr(expr, field.name) for field in dataclasses.fields(expr)]
    elif isinstance(expr, list | tuple):
        parts = list(expr)
    elif isinstance(expr, dict):
        parts = list(expr.values())
    return {name for part in parts for name in columns_of(part)}
