import { expect, test } from "vitest";
import { ConfigError, parseConfig } from "./config";

const base = "https://pages.example/pets/deeplake.json";

test.each([
  [{ dataset: "data/" }, { dataset: "https://pages.example/pets/data/", name: "", at: "", query: "" }],
  [{ dataset: "https://d.example/x?sig=1#y", name: "x", at: "v1", query: "SELECT *" },
    { dataset: "https://d.example/x?sig=1", name: "x", at: "v1", query: "SELECT *" }],
])("%j", (fields, want) => {
  expect(parseConfig(JSON.stringify({ format: 1, ...fields }), base)).toEqual(want);
});

test.each([
  ["", "no JSON"], ["[]", "no object"], ["null", "no object"], ['{"dataset": "data/"}', '"format"'],
  ['{"format": 2, "dataset": "data/"}', '"format" is 2'], ['{"format": 1}', '"dataset"'],
  ['{"format": 1, "dataset": 7}', '"dataset" is no text'], ['{"format": 1, "dataset": "javascript:x"}', '"dataset"'],
  ['{"format": 1, "dataset": "https://u:p@d.example/"}', "password"],
  ['{"format": 1, "dataset": "data/", "token": "x"}', '"token"'],
  [`{"format": 1, "dataset": "${"a".repeat(200_000)}"}`, "characters"],
])("refuses %.60s", (text, problem) => {
  expect(() => parseConfig(text, base)).toThrow(ConfigError);
  expect(() => parseConfig(text, base)).toThrow(problem);
});
