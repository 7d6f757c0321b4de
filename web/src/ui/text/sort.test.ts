import { expect, test } from "vitest";
import { nextOrder, orderOf } from "./sort";

test.each([
  ["", ['ORDER BY "a"', 'ORDER BY "a" DESC', ""]],
  ["x > 1", ['x > 1 ORDER BY "a"', 'x > 1 ORDER BY "a" DESC', "x > 1"]],
  ["ORDER BY b", ['ORDER BY "a"', 'ORDER BY "a" DESC', ""]],
  ["SELECT * WHERE x > 1", ['SELECT * WHERE x > 1 ORDER BY "a"', 'SELECT * WHERE x > 1 ORDER BY "a" DESC', "SELECT * WHERE x > 1"]],
  ["SELECT a, b", ['SELECT * FROM (SELECT a, b) ORDER BY "a"', 'SELECT * FROM (SELECT a, b) ORDER BY "a" DESC', "SELECT a, b"]],
  ["ORDER BY IOU(p, q)", ['ORDER BY "a"', 'ORDER BY "a" DESC', ""]],
])("clicks on a header after %j", (text, steps) => {
  let query = text;
  for (const step of steps) {
    query = nextOrder(query, "a");
    expect(query).toBe(step);
  }
});

test("the order of a query", () => {
  expect(orderOf('x = 1 ORDER BY "a b" DESC', "a b")).toBe("descending");
  expect(orderOf("ORDER BY a asc", "a")).toBe("ascending");
  expect(orderOf("ORDER BY a", "b")).toBe("none");
  expect(orderOf("ORDER BY a, b", "a")).toBe("none");
  expect(orderOf("SELECT * FROM (SELECT * ORDER BY a)", "a")).toBe("none");
  expect(orderOf("x = 'ORDER BY a'", "a")).toBe("none");
  expect(nextOrder("", 'say "hi"')).toBe('ORDER BY "say ""hi"""');
});
