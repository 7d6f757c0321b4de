import { describe, expect, it } from "vitest";
import { asQuery, faultLine, hasCondition, orderByColumn, pythonString, quoteName, toggleCondition, withColumn } from "./tql";

describe("queries", () => {
  it.each([
    ["label = 'cat'", "SELECT * WHERE label = 'cat'"], ["ORDER BY score", "SELECT * ORDER BY score"],
    ["select * limit 3", "select * limit 3"], ["(SELECT a) UNION (SELECT b)", "(SELECT a) UNION (SELECT b)"],
  ])("completes %s", (text, query) => expect(asQuery(text)?.text).toBe(query));

  it("has none for an empty text", () => expect(asQuery(" \n ")).toBeNull());

  it.each([
    ["", "a = 1", "a = 1"], ["b > 2", "a = 1", "b > 2 AND a = 1"],
    ["a = 1 OR b = 2", "c = 3", "(a = 1 OR b = 2) AND c = 3"],
  ])("adds to %j the condition %j", (text, condition, want) => {
    const added = toggleCondition(text, condition);
    expect(added).toBe(want);
    expect(hasCondition(added, condition)).toBe(true);
    expect(hasCondition(toggleCondition(added, condition), condition)).toBe(false);
  });

  it("puts a query that is not simple into brackets", () =>
    expect(toggleCondition("SELECT a LIMIT 3", "a = 1")).toBe("SELECT * FROM (SELECT a LIMIT 3) WHERE a = 1"));
});

describe("quoting", () => {
  it("escapes for Python", () => {
    expect(pythonString(`a "b" \\ \n`)).toBe(`"a \\"b\\" \\\\ \\n"`);
    expect(pythonString("\u202e\u0000é")).toBe(`"\\u202e\\x00é"`);
  });
  it("quotes names", () => {
    expect(quoteName("label", new Set(["SELECT"]))).toBe("label");
    expect(quoteName("select", new Set(["SELECT"]))).toBe('"select"');
    expect(quoteName('a"b/c', new Set())).toBe('"a""b/c"');
  });
  it("shows the line of a fault", () => {
    const { line, column } = faultLine("SELECT *\nWHERE lables = 1", 15);
    expect(line.slice(column)).toBe("lables = 1");
  });
});

describe("a column for colors", () => {
  it.each([
    ["", "SELECT *, b + 1 AS color"],
    ["a = 1", "SELECT *, b + 1 AS color WHERE a = 1"],
    ["SELECT * WHERE a = 1 ORDER BY c", "SELECT *, b + 1 AS color WHERE a = 1 ORDER BY c"],
    ["SELECT a LIMIT 3", "SELECT *, b + 1 AS color FROM (SELECT a LIMIT 3)"],
    ["SELECT *, MAX(x, 2) AS color WHERE a = 1", "SELECT *, b + 1 AS color WHERE a = 1"],
    ["SELECT *, x AS other", "SELECT *, b + 1 AS color FROM (SELECT *, x AS other)"],
    ["SELECT *, x AS color, y AS z", "SELECT *, b + 1 AS color FROM (SELECT *, x AS color, y AS z)"],
  ])("is added to %j", (text, query) => expect(withColumn(text, "b + 1", "color")).toBe(query));
});

describe("the order by a column of its own", () => {
  const sorted = (text: string): string => orderByColumn(text, "F(a, b)", "f1");
  it.each([
    ["", "SELECT *, F(a, b) AS f1 ORDER BY f1"],
    ["a = 1 ORDER BY c", "SELECT *, F(a, b) AS f1 WHERE a = 1 ORDER BY f1"],
    ["SELECT *, F(a, c) AS f1 WHERE a = 1 ORDER BY f1", "SELECT *, F(a, b) AS f1 WHERE a = 1 ORDER BY f1"],
    ["SELECT a LIMIT 3", "SELECT * FROM (SELECT *, F(a, b) AS f1 FROM (SELECT a LIMIT 3)) ORDER BY f1"],
  ])("is added to %j", (text, query) => {
    expect(sorted(text)).toBe(query);
    expect(sorted(query)).toBe(query);
  });
  it("stays when a condition is added and taken away", () => {
    const query = sorted("");
    const filtered = toggleCondition(query, "label = 'cat'");
    expect(filtered).toBe("SELECT *, F(a, b) AS f1 WHERE label = 'cat' ORDER BY f1");
    expect(hasCondition(filtered, "label = 'cat'")).toBe(true);
    expect(toggleCondition(filtered, "label = 'cat'")).toBe(query);
    expect(toggleCondition("SELECT *, x AS y", "a = 1")).toBe("SELECT *, x AS y WHERE a = 1");
    expect(toggleCondition("SELECT *, x AS y WHERE a = 1", "a = 1")).toBe("SELECT *, x AS y");
  });
});
