import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../../data/errors";
import type { View } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import { tensorOf, viewOf } from "../../data/testing";
import { Model } from "./model";
import type { Drawing, Service } from "./page";

const tensors = [tensorOf("images", "image", { role: "primary" }), tensorOf("labels", "label")];
const root: View = { ...viewOf(100, tensors), view: "root" };
const refused = (kind: string, status: number, more = {}): ApiError => new ApiError(`refused: ${kind}`, kind, status, more);
const forgotten = (): ApiError => refused("not found", 404, { unknownView: true });

/** Makes a model of a server that responds at once, and records its calls and addresses. */
function modelOf(hash: string, change: Partial<Service> = {}) {
  let entered = false;
  let opened = 0;
  const client = {
    get entered() {
      return entered;
    },
    enter: vi.fn(() => Promise.resolve(void (entered = true))),
    words: () => Promise.resolve({ keywords: ["SELECT"], functions: [] }),
    open: vi.fn(() => Promise.resolve({ ...root, view: `root${++opened}` })),
    query: vi.fn((_: string, text: string) => Promise.resolve({ ...root, view: `of ${text}`, rows: 7 })),
    select: vi.fn((_: string, rows: number[]) => Promise.resolve({ ...root, view: "picked", rows: rows.length })),
    close: vi.fn(() => Promise.resolve()),
    ...change,
  } as unknown as Service;
  const pushed: string[] = [];
  const replaced: string[] = [];
  const browser = {
    location: { hash, pathname: "/", search: "", href: `http://x/${hash}` },
    history: {
      pushState: (_: unknown, __: string, url?: string | URL | null) => void pushed.push(String(url)),
      replaceState: (_: unknown, __: string, url?: string | URL | null) => void replaced.push(String(url)),
    },
  };
  const openStore = (_: unknown, view: View): SampleStore => ({ view, close: () => undefined }) as SampleStore;
  return { client, pushed, replaced, browser, model: new Model(client, {} as Drawing, browser, openStore) };
}

async function started(hash = "#key=k", change: Partial<Service> = {}) {
  const all = modelOf(hash, change);
  await all.model.session.start();
  return all;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a link enters once, and its key leaves the address", async () => {
  const { model, client, replaced } = await started("#key=k&row=3");
  expect(client.enter).toHaveBeenCalledWith("k");
  expect(replaced).toEqual(["/#row=3"]);
  expect(model.get()).toMatchObject({ stop: null, primary: "images", place: { row: 3 }, notice: "100 rows" });
});

test.each<[string, string, Partial<Service>]>([
  ["This page needs a link with a key", "#row=3", {}],
  ["This link was used before", "#key=k", { enter: () => Promise.reject(refused("denied", 403)) }],
  ["This version cannot be opened", "#key=k&at=v9", { open: () => Promise.reject(refused("not found", 404)) }],
  ["The dataset cannot be opened", "#key=k", { open: () => Promise.reject(refused("corrupt", 500)) }],
])("%s", async (title, hash, change) => {
  const { model } = await started(hash, change);
  expect(model.get().stop?.title).toBe(title);
});

test("a query is a step of the address, and the same query is not run again", async () => {
  const { model, client, pushed } = await started();
  await model.queries.run("x > 1");
  expect(client.query).toHaveBeenCalledWith("root1", "SELECT * WHERE x > 1", expect.anything());
  expect(model.get()).toMatchObject({ running: false, view: { rows: 7 }, root: { rows: 100 } });
  expect(pushed).toEqual(["/#query=x+%3E+1"]);
  await model.queries.run("x > 1");
  expect(client.query).toHaveBeenCalledTimes(1);
  expect(model.queries.history.back("")).toBe("x > 1");
});

test("a query that is run while the page enters, or opens a version, is shown in the end", async () => {
  const ends: (() => void)[] = [];
  const later = <T>(value: () => T) => () => new Promise<T>((resolve) => void ends.push(() => resolve(value())));
  const of = modelOf("#key=k&at=v1");
  of.client.enter = vi.fn(later(() => void Object.defineProperty(of.client, "entered", { value: true })));
  of.client.open = vi.fn(later(() => root));
  const { model, client, pushed } = of;
  const start = model.session.start();
  model.set({ draft: "x > 1" });
  await model.queries.run();
  expect(client.open).not.toHaveBeenCalled();
  ends.shift()?.();
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  const second = model.queries.run("x > 2");
  await vi.waitFor(() => expect(ends).toHaveLength(2));
  for (const end of ends) end();
  await Promise.all([start, second]);
  expect(client.open).toHaveBeenLastCalledWith({ at: "v1" }, expect.anything());
  expect(model.get()).toMatchObject({ draft: "x > 2", running: false, view: { rows: 7 }, place: { at: "v1", query: "x > 2" } });
  expect(pushed).toEqual(["/#at=v1&query=x+%3E+2"]);
});

test("text that is typed while the page enters stays", async () => {
  const { model } = modelOf("#key=k");
  const start = model.session.start();
  model.set({ draft: "x > 1" });
  await start;
  expect(model.get()).toMatchObject({ draft: "x > 1", view: { rows: 100 }, place: { query: "" } });
});

test("a refused query shows its fault in the text of the user, and keeps the view", async () => {
  const query = () => Promise.reject(refused("invalid", 400, { position: "SELECT * WHERE x >".length }));
  const { model, pushed } = await started("#key=k", { query });
  await model.queries.run("x > $");
  expect(model.get()).toMatchObject({ draft: "x > $", fault: { line: "x > $", column: 3 }, view: { rows: 100 } });
  expect(pushed).toEqual([]);
});

test("the last of two queries is shown, whichever ends last", async () => {
  const ends: ((view: View) => void)[] = [];
  const query = () => new Promise<View>((resolve) => void ends.push(resolve));
  const { model } = await started("#key=k", { query });
  const runs = [model.queries.run("x > 1"), model.queries.run("x > 2")];
  await vi.waitFor(() => expect(ends).toHaveLength(2));
  ends[1]({ ...root, view: "second", rows: 2 });
  ends[0]({ ...root, view: "first", rows: 1 });
  await Promise.all(runs);
  expect(model.get()).toMatchObject({ view: { view: "second" }, place: { query: "x > 2" }, running: false });
});

test("requests that find the view forgotten open it again once", async () => {
  const { model, client } = await started();
  const task = vi.fn((view: View) => (view.view === "root1" ? Promise.reject(forgotten()) : Promise.resolve(view.view)));
  expect(await Promise.all([model.views.withView(task), model.views.withView(task)])).toEqual(["root2", "root2"]);
  expect(client.open).toHaveBeenCalledTimes(2);
});

test("picked rows are shown until all rows are wanted again", async () => {
  const { model } = await started();
  await model.views.pick([4, 5, 9]);
  expect(model.get()).toMatchObject({ picked: true, view: { rows: 3 } });
  await model.views.unpick();
  expect(model.get()).toMatchObject({ picked: false, view: { rows: 100 } });
});

test.each([
  ["12", "", 12], ["-1", "", 99], ["100", "Rows go from 0 to 99.", -1], ["x", "Write a row", -1],
])("going to %s", async (text, fault, row) => {
  const { model } = await started();
  expect(model.rows.goTo(text)).toContain(fault);
  expect(model.get().place.row).toBe(row);
});

test("going to a slice runs a query for its rows", async () => {
  const { model, client } = await started();
  expect(model.rows.goTo("10:20")).toBe("");
  await vi.waitFor(() => expect(client.query).toHaveBeenCalledWith("root1", "SELECT * LIMIT 10 OFFSET 10", expect.anything()));
});

test("looks go into the address, and stay when another version is opened", async () => {
  const { model, client, pushed, replaced } = await started();
  model.looks.setMode("table");
  expect(pushed).toEqual(["/#mode=table"]);
  model.looks.toggleLayer("labels");
  model.looks.setCell(9999);
  vi.runAllTimers();
  expect(replaced[replaced.length - 1]).toBe("/#mode=table&cell=1024&hide=labels");
  await model.visits.openVersion({ at: "v1" });
  expect(client.open).toHaveBeenLastCalledWith({ at: "v1" }, expect.anything());
  expect(model.get().place).toMatchObject({ at: "v1", mode: "table", cell: 1024, hidden: ["labels"] });
  expect(model.get().layers.labels.visible).toBe(false);
});

test("an address that the user has changed is followed, not replaced", async () => {
  const { model, replaced, browser } = await started("#key=k");
  replaced.length = 0;
  // The user edits the address while a change of the page waits, and its event comes late.
  model.navigation.move({ row: 3 });
  browser.location.hash = "#row=5";
  await vi.advanceTimersByTimeAsync(1000);
  expect(replaced).toEqual([]);
  model.session.followAddress();
  await vi.advanceTimersByTimeAsync(1000);
  expect(model.get().place.row).toBe(5);
  // The event comes first.
  model.navigation.move({ row: 6 });
  browser.location.hash = "#row=7";
  model.session.followAddress();
  await vi.advanceTimersByTimeAsync(1000);
  expect(replaced).toEqual([]);
  model.navigation.move({ row: 8 });
  await vi.advanceTimersByTimeAsync(1000);
  expect(replaced).toEqual(["/#row=8"]);
});
