import { expect, test } from "vitest";
import { savedRows } from "./save";
import { chosenText } from "./versions";

test("the dialog names the rows that it saves", () => {
  expect(savedRows({ rows: 50 }, true)).toBe("50 selected rows");
  expect(savedRows({ rows: 1, query: "SELECT *" }, false)).toBe("SELECT *: 1 row");
  expect(savedRows({ rows: 9 }, false)).toBe("All rows: 9 rows");
});

test("the dialog names the versions to compare", () => {
  const list = { commits: [{ commit: "c5", version: 5, message: "", author: "", time: "", parents: [] }] };
  expect(chosenText(list, { from: "", to: "" })).toContain("choose From and To");
  expect(chosenText(list, { from: "c5", to: "" })).toBe("From version 5: choose To");
  expect(chosenText(list, { from: "c5", to: "fix" })).toBe("From version 5 to fix");
});
