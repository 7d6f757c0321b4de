import { expect, test } from "vitest";
import { openStore } from "../../data/store";
import type { Client, SamplesRequest } from "../../data/client";
import type { Header, Tensor } from "../../data/protocol";
import { tensorOf, viewOf } from "../../data/testing";
import type { Appearance, FilmLayer, Layer } from "../../draw/api";
import { planOf, planOfFrames } from "../../draw/plan";
import { FrameItems, lengthOf, pieceOf } from "./items";

const over = { role: "overlay", over: "film", sequence: true } as const;
const tensors: Tensor[] = [
  tensorOf("film", "video", { role: "primary" }), tensorOf("boxes", "boxes", { ...over, labels: ["labels"] }),
  tensorOf("labels", "label", { ...over, max_shape: [9], class_names: ["cat"] }),
  tensorOf("still", "boxes", { role: "overlay", over: "film" }), tensorOf("speed", "number", { sequence: true, max_shape: [] }),
  tensorOf("weather", "label", { max_shape: [] }),
];

interface Drawn {
  item: number;
  sequences: string[];
}

/** A row whose sequences have so many items; -1: the row has none of them. */
function open(counts: Record<string, number>, layers: Record<string, Layer> = {}) {
  const requests: SamplesRequest["columns"][] = [];
  const client = {
    samples: (request, onRecord) => {
      requests.push(request.columns);
      for (const { name, items } of request.columns) {
        const header: Header = { row: 0, index: 0, column: name, kind: "array", dtype: "float32", shape: [1, 4] };
        const body = (): Uint8Array<ArrayBuffer> => new Uint8Array(16);
        const count = counts[name];
        if (count === undefined) onRecord({ header: { ...header, shape: [], dtype: "uint8" }, body: new Uint8Array(1) });
        else if (count < 0) onRecord({ header: { ...header, kind: "missing" }, body: new Uint8Array(0) });
        else {
          const [from, to] = items ?? [0, 1];
          if (from >= Math.min(to, count)) onRecord({ header: { row: 0, index: 0, column: name, kind: "array", items: count }, body: new Uint8Array(0) });
          for (let item = from; item < Math.min(to, count); item++) onRecord({ header: { ...header, item, items: count }, body: body() });
        }
      }
      return Promise.resolve();
    },
  } as Pick<Client, "samples">;
  const store = openStore(client, viewOf(1, tensors));
  let changes = 0;
  const items = new FrameItems(store, 0, () => changes++);
  const appearance: Appearance = { primary: "film", layers, dark: true };
  const drawn: Drawn[] = [];
  const layer = {
    setStore: () => undefined, setAppearance: () => undefined,
    show: (_row: number, item: number, sequences: ReadonlySet<string>) => drawn.push({ item, sequences: [...sequences] }),
  } as unknown as FilmLayer;
  items.setAppearance(appearance);
  items.setLayer(layer);
  const asked = (name: string): ([number, number] | undefined)[] =>
    requests.flat().filter((column) => column.name === name).map((column) => column.items);
  return { items, store, requests, drawn, asked, changes: () => changes };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 12; i++) await new Promise((done) => setTimeout(done, 1));
};

test("items come in pieces around the frame, and the next piece ahead", async () => {
  const { items, asked, requests, drawn } = open({ boxes: 100_000, labels: 100_000, speed: 100_000 });
  await settle();
  // Before the player tells a frame, captions alone are read.
  expect(asked("boxes")).toEqual([]);
  expect(asked("speed")).toEqual([undefined]);
  items.setFrames({ count: 100_000, width: 320, height: 192 });
  items.show(0);
  await settle();
  expect(asked("boxes")).toEqual([[0, 256], [256, 512]]);
  expect(asked("labels")).toEqual([[0, 256], [256, 512]]);
  const before = requests.length;
  for (let frame = 1; frame < 512; frame++) items.show(frame);
  await settle();
  expect(requests.length - before).toBeLessThanOrEqual(2);
  expect(drawn.at(-1)).toEqual({ item: 511, sequences: ["boxes", "labels"] });
  // A seek reads the place alone.
  items.show(70_000);
  await settle();
  expect(asked("boxes").slice(-2)).toEqual([[69_888, 70_144], [70_144, 70_400]]);
  // At the end nothing lies ahead.
  items.show(99_999);
  await settle();
  expect(asked("boxes").at(-1)).toEqual([99_840, 100_000]);
  // Boxes of the row as a whole belong to no frame.
  expect(asked("still")).toEqual([]);
  items.close();
});

test("sequences of another length are not drawn, and a line says so", async () => {
  const { items, drawn, asked } = open({ boxes: 47, labels: 48, speed: 48 });
  items.setFrames({ count: 48, width: 320, height: 192 });
  items.show(5);
  await settle();
  expect(items.faults).toEqual(["boxes is not drawn: 47 items, 48 frames"]);
  expect(drawn.at(-1)).toEqual({ item: 5, sequences: ["labels"] });
  expect(items.itemOf(tensors[4])).toBe(5);
  // It is not read on.
  for (let frame = 0; frame < 48; frame++) items.show(frame);
  await settle();
  expect(asked("boxes")).toEqual([[0, 48]]);
  items.close();
});

test("a row without a sequence has nothing to draw, and no fault", async () => {
  const { items, drawn } = open({ boxes: -1, labels: 0, speed: 9 });
  items.setFrames({ count: 9, width: 8, height: 8 });
  items.show(3);
  await settle();
  expect(items.faults).toEqual(["labels is not drawn: 0 items, 9 frames"]);
  expect(drawn.at(-1)).toEqual({ item: 3, sequences: [] });
  items.close();
});

test("hidden layers are not read", async () => {
  const { items, asked, drawn } = open({ boxes: 9, labels: 9, speed: 9 }, { boxes: { visible: false, opacity: 1, hidden: new Set() } });
  items.setFrames({ count: 9, width: 8, height: 8 });
  items.show(3);
  await settle();
  expect(asked("boxes")).toEqual([]);
  expect(drawn.at(-1)?.sequences).toEqual([]);
  items.close();
});

test("an unknown frame draws nothing; captions change with the frame", async () => {
  const { items, drawn, changes } = open({ boxes: 9, labels: 9, speed: 9 });
  items.setFrames({ count: 9, width: 8, height: 8 });
  items.show(2);
  await settle();
  const before = changes();
  items.show(3);
  expect(changes()).toBe(before + 1);
  items.show(undefined);
  expect(drawn.at(-1)?.item).toBe(-1);
  items.close();
});

test("pieces of masks are smaller, the larger the frames are", () => {
  const [mask] = [tensorOf("mask", "mask", over)];
  expect(lengthOf(tensors[1], { width: 4000, height: 4000 })).toBe(256);
  expect(lengthOf(mask, { width: 64, height: 64 })).toBe(256);
  expect(lengthOf(mask, { width: 1024, height: 512 })).toBe(16);
  expect(lengthOf(mask, { width: 40_000, height: 40_000 })).toBe(8);
  expect(lengthOf(mask, { width: 0, height: 0 })).toBe(256);
});

test("the next piece is wanted once this one is there", () => {
  const one = { kind: "missing" } as const;
  const have = (...items: number[]) => ({ kind: "items" as const, count: 10, items: Object.assign([], Object.fromEntries(items.map((item) => [item, one]))) });
  expect(pieceOf(undefined, 5, 10, 4)).toEqual([4, 8]);
  expect(pieceOf(have(4, 5, 6), 5, 10, 4)).toEqual([4, 8]);
  expect(pieceOf(have(4, 5, 6, 7), 5, 10, 4)).toEqual([8, 10]);
  expect(pieceOf(have(8, 9), 9, 10, 4)).toEqual([8, 10]);
});

test("a plan of frames has the overlays and labels with an item for each, and labels of the row", () => {
  const view = viewOf(1, [
    tensors[0], tensorOf("a", "boxes", { ...over, labels: ["row", "names"] }), tensorOf("b", "points", over), tensors[3],
    tensorOf("names", "label", over), tensorOf("row", "label", { role: "overlay", over: "film" }),
  ]);
  const plan = planOf(view, { primary: "film", layers: {}, dark: true, pair: ["a", "b"] });
  const names = (of: string[]): string[] => planOfFrames(plan, new Set(of)).overlays
    .map(({ tensor, labels }) => `${tensor.name}: ${labels.map((label) => label.tensor.name).join()}`);
  expect(names(["a", "b", "names"])).toEqual(["a: row,names", "b: "]);
  expect(names(["a"])).toEqual(["a: row"]);
  expect(names([])).toEqual([]);
  expect(planOfFrames(plan, new Set(["a", "b"])).panes).toEqual([new Set()]);
});

test("the next row is read though this one is closed after it has begun", async () => {
  const { items, store, requests } = open({ boxes: 9, labels: 9, speed: 9 });
  const next = new FrameItems(store, 1, () => undefined);
  await settle();
  items.close();
  const before = requests.length;
  // The player of the closed row ends late.
  items.setFrames({ count: 9, width: 8, height: 8 });
  items.show(1);
  await settle();
  expect(requests.length).toBe(before);
  next.close();
});
