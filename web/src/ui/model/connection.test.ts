import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../../data/errors";
import { Connection } from "./connection";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const gone = () => new ApiError("no answer", "unreachable", 0);

function open() {
  const offline: (number | null)[] = [];
  const connection = new Connection({ offline: (at) => offline.push(at), refused: () => undefined });
  return { connection, offline };
}

test("attempts end after a while, and the person starts one more", async () => {
  const { connection, offline } = open();
  let up = false;
  const task = vi.fn(() => (up ? Promise.resolve("answer") : Promise.reject(gone())));
  const answer = connection.call(task);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(task).toHaveBeenCalledTimes(8);
  expect(offline.at(-1)).toBe(Infinity);
  connection.retryNow();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(task).toHaveBeenCalledTimes(9);
  up = true;
  connection.retryNow();
  expect(await answer).toBe("answer");
  expect(offline.at(-1)).toBe(null);
});

test("requests made while the server is gone wait for the next attempt", async () => {
  const { connection } = open();
  void connection.call(() => Promise.reject(gone()));
  await vi.advanceTimersByTimeAsync(10);
  const later = vi.fn(() => Promise.resolve("answer"));
  const answer = connection.call(later);
  await vi.advanceTimersByTimeAsync(10);
  expect(later).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await answer).toBe("answer");
});

test("what all requests fail of stops them, until the person tries again", async () => {
  const offline: [number | null, string][] = [];
  const connection = new Connection({ offline: (...at) => void offline.push(at), refused: () => undefined });
  let ranges = false;
  const fail = () => Promise.reject(new ApiError("whole", "unsupported", 400, { reason: "no ranges" }));
  const task = vi.fn(() => (ranges ? Promise.resolve("answer") : fail()));
  // This request was sent before, and succeeds.
  const other = connection.call(() => new Promise((resolve) => setTimeout(() => resolve("known"), 10)));
  const answers = [connection.call(task), connection.call(task)];
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(await other).toBe("known");
  expect(task).toHaveBeenCalledTimes(2);
  expect(offline).toEqual([[Infinity, "no ranges"]]);
  connection.retryNow();
  await vi.advanceTimersByTimeAsync(10);
  expect(task).toHaveBeenCalledTimes(4);
  expect(offline).toHaveLength(2);
  ranges = true;
  connection.retryNow();
  expect(await Promise.all(answers)).toEqual(["answer", "answer"]);
  expect(offline.at(-1)).toEqual([null, ""]);
});

test("a request that is no longer wanted does not wait", async () => {
  const { connection } = open();
  const abort = new AbortController();
  const answer = connection.call(() => Promise.reject(gone()), abort.signal).catch(() => "ended");
  await vi.advanceTimersByTimeAsync(10);
  abort.abort();
  expect(await answer).toBe("ended");
});
