"""Random queries over scalar columns, in the words that TQL and DuckDB have in common."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Table:
    name: str
    columns: dict[str, str]  # name to "int", "float", "text", "bool", "date"


@dataclass
class Query:
    tql: str
    sql: str
    ordered: bool
    names: list[str] = field(default_factory=list)


WORDS = ["a", "b", "ab", "ba", "Abc", "", "zz", "é", "a b"]


class Generator:
    """Draws queries; `{t}` stands where TQL and DuckDB name tables in different ways."""

    def __init__(self, seed: int, tables: list[Table]) -> None:
        self.random = random.Random(seed)
        self.tables = tables
        self.scope: dict[str, str] = {}

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # --- expressions

    def columns(self, kind: str) -> list[str]:
        return [name for name, k in self.scope.items() if k == kind]

    def int(self, depth: int) -> str:
        own = self.columns("int")
        if depth <= 0 or self.chance(0.3):
            return self.pick(*own, str(self.random.randint(-3, 9))) if own else str(self.random.randint(-3, 9))
        kind = self.random.randrange(10)
        if kind == 8 and self.columns("date"):
            return f"EXTRACT({self.pick('year', 'month', 'day', 'dow', 'doy', 'quarter')} FROM {self.date(0)})"
        if kind == 9:
            return f"CAST({self.pick(self.float, self.bool)(depth - 1)} AS BIGINT)"
        if kind < 3:
            return f"({self.int(depth - 1)} {self.pick('+', '-', '*')} {self.int(depth - 1)})"
        if kind == 3:
            return f"({self.int(depth - 1)} % {self.pick('2', '3', '-4', self.int(0))})"
        if kind == 4:
            return f"ABS({self.int(depth - 1)})"
        if kind == 5:
            return self.case("int", depth)
        if kind == 6:
            return f"LENGTH({self.text(depth - 1)})"
        return f"COALESCE({self.int(depth - 1)}, {self.int(depth - 1)})"

    def float(self, depth: int) -> str:
        own = self.columns("float")
        if depth <= 0 or self.chance(0.3):
            literal = f"CAST({self.random.randint(-8, 8) / 4} AS DOUBLE)"
            return self.pick(*own, literal) if own else literal
        kind = self.random.randrange(9)
        if kind == 7:
            return f"ROUND({self.float(depth - 1)})"
        if kind == 8:
            return f"{self.pick('GREATEST', 'LEAST')}({self.float(depth - 1)}, {self.float(depth - 1)})"
        if kind < 2:
            return f"({self.float(depth - 1)} {self.pick('+', '-', '*')} {self.pick(self.float, self.int)(depth - 1)})"
        if kind == 2:
            return f"({self.pick(self.float, self.int)(depth - 1)} / {self.pick('2', '4', '-8')})"
        if kind == 3:
            return f"{self.pick('ABS', 'FLOOR', 'CEIL')}({self.float(depth - 1)})"
        if kind == 4:
            return self.case("float", depth)
        if kind == 5:
            return f"CAST({self.int(depth - 1)} AS DOUBLE)"
        return f"COALESCE({self.float(depth - 1)}, {self.float(depth - 1)})"

    def text(self, depth: int) -> str:
        own = self.columns("text")
        literal = "'" + self.pick(*WORDS) + "'"
        if depth <= 0 or self.chance(0.4):
            return self.pick(*own, literal) if own else literal
        kind = self.random.randrange(8)
        if kind == 5:
            return f"REPLACE({self.text(depth - 1)}, '{self.pick('a', 'b')}', '{self.pick('', 'xy')}')"
        if kind == 6:
            return f"{self.pick('LEFT', 'RIGHT')}({self.text(depth - 1)}, {self.random.randint(0, 3)})"
        if kind == 7:
            return f"CAST({self.pick(self.int, self.bool)(depth - 1)} AS VARCHAR)"
        if kind == 0:
            return f"({self.text(depth - 1)} || {self.text(depth - 1)})"
        if kind == 1:
            return f"{self.pick('LOWER', 'UPPER')}({self.text(depth - 1)})"
        if kind == 2:
            return self.case("text", depth)
        if kind == 3:
            return f"SUBSTRING({self.text(depth - 1)}, {self.random.randint(1, 3)}, {self.random.randint(0, 3)})"
        return f"COALESCE({self.text(depth - 1)}, {literal})"

    def date(self, depth: int) -> str:
        own = self.columns("date")
        literal = f"DATE '2024-0{self.random.randint(1, 9)}-1{self.random.randint(0, 9)}'"
        return self.pick(*own, literal) if own else literal

    def bool(self, depth: int) -> str:
        own = self.columns("bool")
        if depth <= 0 or self.chance(0.1):
            return self.pick(*own, "TRUE", "FALSE") if own else self.pick("TRUE", "FALSE")
        kind = self.random.randrange(16)
        if kind == 14:
            return f"{self.pick('STARTS_WITH', 'ENDS_WITH', 'CONTAINS')}({self.text(depth - 1)}, '{self.pick('a', 'b', '')}')"
        if kind == 15:
            return f"({self.date(0)} {self.pick('<', '>=', '=')} {self.date(0)})"
        if kind < 4:
            make = self.pick(self.int, self.float, self.text, self.date)
            return f"({make(depth - 1)} {self.pick('=', '!=', '<', '<=', '>', '>=')} {make(depth - 1)})"
        if kind == 4:
            return f"({self.int(depth - 1)} {self.pick('=', '<', '>=')} {self.float(depth - 1)})"
        if kind == 5:
            return f"({self.bool(depth - 1)} AND {self.bool(depth - 1)})"
        if kind == 6:
            return f"({self.bool(depth - 1)} OR {self.bool(depth - 1)})"
        if kind == 7:
            return f"(NOT {self.bool(depth - 1)})"
        if kind == 8:
            make = self.pick(self.int, self.float, self.text, self.bool, self.date)
            return f"({make(depth - 1)} IS {self.pick('', 'NOT ')}NULL)"
        if kind == 9:
            make = self.pick(self.int, self.float, self.text)
            return f"({make(depth - 1)} {self.pick('', 'NOT ')}BETWEEN {make(0)} AND {make(0)})"
        if kind == 10:
            make = self.pick(self.int, self.text)
            items = [make(0) for _ in range(self.random.randint(1, 4))] + (["NULL"] if self.chance(0.1) else [])
            return f"({make(depth - 1)} {self.pick('', 'NOT ')}IN ({', '.join(items)}))"
        if kind == 11:
            pattern = "".join(self.pick("a", "b", "%", "_", "Z") for _ in range(self.random.randint(1, 3)))
            return f"({self.text(depth - 1)} {self.pick('', 'NOT ')}{self.pick('LIKE', 'ILIKE')} '{pattern}')"
        if kind == 12:
            return self.case("bool", depth)
        return f"({self.text(depth - 1)} {self.pick('<', '=', '>')} {self.text(depth - 1)})"

    def case(self, kind: str, depth: int) -> str:
        make = getattr(self, kind)
        arms = [f"WHEN {self.bool(depth - 1)} THEN {make(depth - 1)}" for _ in range(self.random.randint(1, 2))]
        rest = f" ELSE {make(depth - 1)}" if self.chance(0.6) else ""
        return f"CASE {' '.join(arms)}{rest} END"

    def any(self, depth: int) -> tuple[str, str]:
        kind = self.pick("int", "float", "text", "bool", "int", "float", "date")
        return getattr(self, kind)(depth), kind

    # --- statements

    def source(self) -> str:
        """FROM and joins; sets the scope."""
        table = self.pick(*self.tables)
        kind = self.random.random()
        if kind < 0.6:
            self.scope = dict(table.columns)
            return f"FROM {{{table.name}}}"
        if kind < 0.7:
            inner = Generator(self.random.randrange(1 << 30), self.tables)
            inner.scope = dict(table.columns)
            outs = [inner.any(2) for _ in range(2)]
            self.scope = {f"u.c{i}": k for i, (_, k) in enumerate(outs)}
            listed = ", ".join(f"{x} AS c{i}" for i, (x, _) in enumerate(outs))
            return f"FROM (SELECT {listed} FROM {{{table.name}}} WHERE {inner.bool(2)}) AS u"
        if kind < 0.76:
            return self.grouped_source(table)
        other = self.pick(*self.tables)
        if kind < 0.84 and (common := [n for n in table.columns if n in other.columns]):
            using = self.pick(*common)
            both = {n: k for n, k in table.columns.items() if n not in other.columns}
            rest = {n: k for n, k in other.columns.items() if n not in table.columns}
            self.scope = {**both, **rest, using: table.columns[using]}
            how = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
            return f"FROM {{{table.name}}} AS x {how} {{{other.name}}} AS y USING ({using})"
        left = {f"x.{name}": k for name, k in table.columns.items()}
        right = {f"y.{name}": k for name, k in other.columns.items()}
        how = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
        self.scope = {**left, **right}
        text = f"FROM {{{table.name}}} AS x {how} {{{other.name}}} AS y"
        if how == "CROSS JOIN":
            return text
        key = self.pick("int", "text")
        a = self.pick(*[n for n, k in left.items() if k == key])
        b = self.pick(*[n for n, k in right.items() if k == key])
        on = f"{a} = {b}"
        if how == "JOIN" and self.chance(0.4):
            on += f" AND {self.bool(2)}"
        return f"{text} ON {on}"

    def grouped_source(self, table: Table) -> str:
        """A query with groups as a source."""
        inner = Generator(self.random.randrange(1 << 30), self.tables)
        inner.scope = dict(table.columns)
        kind = self.pick("int", "text", "bool")
        key = getattr(inner, kind)(1)
        if not any(name in key for name in inner.scope):
            key, kind = inner.pick(*inner.columns("text")), "text"
        self.scope = {"u.k": kind, "u.n": "int", "u.m": "float"}
        value = inner.pick(*inner.columns("float"))
        return f"FROM (SELECT {key} AS k, COUNT(*) AS n, MAX({value}) AS m FROM {{{table.name}}} GROUP BY {key}) AS u"

    def aggregate(self, depth: int) -> str:
        kind = self.random.randrange(9)
        if kind == 6:
            return f"{self.pick('BOOL_AND', 'BOOL_OR')}({self.bool(depth)})"
        if kind == 7:
            return f"{self.pick('STDDEV', 'MEDIAN', 'STDDEV_POP')}({self.pick(*self.columns('float'), 'CAST(1.5 AS DOUBLE)')})"
        if kind == 8:
            return f"(SUM({self.int(1)}) - COUNT(*))"
        if kind == 0:
            return "COUNT(*)"
        if kind == 1:
            return f"COUNT({self.pick('', 'DISTINCT ')}{self.any(depth)[0]})"
        if kind == 2:
            return f"SUM({self.pick(self.int, self.float)(depth)})"
        if kind == 3:
            return f"AVG({self.pick(self.int, self.float)(1)})"
        make = self.pick(self.int, self.float, self.text, self.date)
        return f"{self.pick('MIN', 'MAX')}({make(depth)})"

    def select(self, width: int | None = None, kinds: list[str] | None = None) -> tuple[str, list[str], int]:
        """One select without an order; its text and the kinds of its columns."""
        source = self.source()
        where = f" WHERE {self.where()}" if self.chance(0.6) else ""
        if kinds is not None:
            outs = [getattr(self, kind)(2) for kind in kinds]
        elif self.chance(0.35):
            return self.grouped(source, where)
        else:
            pairs = [self.any(3) for _ in range(width or self.random.randint(1, 3))]
            outs, kinds = [x for x, _ in pairs], [k for _, k in pairs]
        distinct = "DISTINCT " if self.chance(0.2) else ""
        listed = ", ".join(f"{x} AS c{i}" for i, x in enumerate(outs))
        return f"SELECT {distinct}{listed} {source}{where}", kinds, len(outs)

    def where(self) -> str:
        if self.chance(0.12):
            table = self.pick(*self.tables)
            columns = [n for n, k in table.columns.items() if k == "int"]
            sub = f"SELECT {self.pick(*columns)} FROM {{{table.name}}}"
            if self.chance(0.5):
                sub += f" WHERE {self.pick(*columns)} IS NOT NULL"
            kind = self.random.randrange(4)
            outer = [n for n in self.columns("int") if n.startswith(("x.", "u."))]
            if kind == 3 and outer:
                inner = self.pick(*columns)
                what = f"SELECT 1 FROM {{{table.name}}} AS z WHERE z.{inner} = {self.pick(*outer)}"
                return f"{self.pick('', 'NOT ')}EXISTS ({what})"
            if kind == 0:
                return f"{self.int(1)} {self.pick('', 'NOT ')}IN ({sub})"
            if kind == 1:
                aggregate = sub.replace("SELECT ", "SELECT MAX(", 1).replace(" FROM", ") FROM", 1)
                return f"{self.int(1)} {self.pick('=', '<', '>')} ({aggregate})"
            return (
                f"{self.pick('', 'NOT ')}EXISTS ({sub} AND {self.pick(*columns)} > {self.random.randint(0, 12)})"
                if " WHERE" in sub
                else f"EXISTS ({sub})"
            )
        return self.bool(3)

    def grouped(self, source: str, where: str) -> tuple[str, list[str], int]:
        keys = [self.any(1) for _ in range(self.random.randint(0, 2))]
        keys = [(x, k) for x, k in keys if x in self.scope or not x.replace("-", "").replace(".", "").isdigit()]
        keys = [(x, k) for x, k in keys if any(name in x for name in self.scope)]
        outs = [x for x, _ in keys] + [self.aggregate(2) for _ in range(self.random.randint(1, 2))]
        group = f" GROUP BY {', '.join(x for x, _ in keys)}" if keys else ""
        having = (
            f" HAVING {self.aggregate(1).replace('MIN', 'COUNT').replace('MAX', 'COUNT')} > {self.random.randint(0, 3)}"
            if keys and self.chance(0.3)
            else ""
        )
        listed = ", ".join(f"{x} AS c{i}" for i, x in enumerate(outs))
        return f"SELECT {listed} {source}{where}{group}{having}", [], len(outs)

    def query(self) -> Query:
        text, kinds, width = self.select()
        if kinds and self.chance(0.15):
            other, _, _ = self.select(kinds=kinds)
            text = f"{text} {self.pick('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL', 'INTERSECT ALL')} {other}"
        ordered = self.chance(0.6)
        if ordered:
            order = list(range(width))
            self.random.shuffle(order)
            keys = [
                f"c{i}{self.pick('', ' ASC', ' DESC')}{self.pick('', '', ' NULLS FIRST', ' NULLS LAST')}" for i in order
            ]
            text += f" ORDER BY {', '.join(keys)}"
            if self.chance(0.5):
                text += f" LIMIT {self.random.randint(0, 8)}"
                if self.chance(0.4):
                    text += f" OFFSET {self.random.randint(0, 4)}"
        if not ordered and kinds and self.chance(0.1):
            text = f"WITH w AS ({text}) SELECT c0, COUNT(*) AS n FROM w GROUP BY c0"
        places = {table.name: f'"mem://{table.name}"' for table in self.tables}
        return Query(text.format(**places), text.format(**{table.name: table.name for table in self.tables}), ordered)
