import { expect, test, vi } from "vitest";
import { ApiError } from "../../data/errors";
import type { Versions } from "../../data/protocol";
import { viewOf } from "../../data/testing";
import { saving } from "./saving";

const exists = new ApiError("there is a view of this name", "exists", 409);
const gone = new ApiError("no answer", "unreachable", 0);
const view = { ...viewOf(3, []), query: "SELECT *", commit: "c" };
const mine = { name: "cats", query: "SELECT *", rows: 3, commit: "c" };

/** Makes a server that refuses saves with these errors in turn, and has a view. */
function serverOf(saved: Versions["saved"][number], ...errors: ApiError[]) {
  const save = vi.fn(() => Promise.reject(errors.shift() ?? gone));
  const versions = vi.fn(() => Promise.resolve({ branch: "", branches: [], tags: [], saved: [saved], commits: [] }));
  return { save, versions };
}

test("a name in use is an error, if no response was lost", async () => {
  await expect(saving(serverOf(mine, exists), "cats", false)(view)).rejects.toBe(exists);
});

test.each([
  ["its own view", mine, true],
  ["another name", { ...mine, name: "dogs" }, false],
  ["another query", { ...mine, query: "SELECT * LIMIT 3" }, false],
  ["other rows", { ...mine, rows: 4 }, false],
  ["another version", { ...mine, commit: "d" }, false],
])("after a lost response, the page finds %s", async (_, saved, done) => {
  const server = serverOf(saved, gone, exists);
  const save = saving(server, "cats", false);
  await expect(save(view)).rejects.toBe(gone);
  if (done) await save(view);
  else await expect(save(view)).rejects.toBe(exists);
  expect(server.save).toHaveBeenCalledTimes(2);
});
