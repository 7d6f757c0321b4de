// One sample over the grid: pan, zoom, items of a sequence, and the range of values.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import type { SampleStore } from "../../data/samples";
import type { Single } from "../../draw/api";
import { formatNumber } from "../../draw/format";
import type { Range } from "../../draw/pixels";
import { useApp, useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { useSamples } from "../hooks/requests";
import { isPicture, isVideo } from "../model/tensors";
import { IconButton } from "../widgets/icons";
import { Captions } from "./captions";
import { FilmView } from "./film";
import { RowTools, stepRow } from "./tools";
import { endsOf, itemOf, nextItem, rangeOf } from "./window";

const rates = [1, 2, 5, 10, 15, 24, 25, 30, 60];
const ahead = 8;
const zoomStep = 1.25;

export function SingleView({ store }: { store: SampleStore }) {
  const primary = useApp((s) => s.primary);
  const film = store.view.tensors.find((tensor) => tensor.name === primary && isVideo(tensor));
  return film ? <FilmView store={store} tensor={film} /> : <PictureView store={store} />;
}

function PictureView({ store }: { store: SampleStore }) {
  const model = useModel();
  const row = useApp((s) => s.place.row);
  const item = useApp((s) => s.place.item);
  const appearance = useAppearance();
  const canvas = useRef<HTMLCanvasElement>(null);
  const single = useRef<Single | null>(null);
  const [fault, setFault] = useState("");
  useSamples(store);

  useLayoutEffect(() => {
    if (!canvas.current) return;
    try {
      single.current = model.drawing.openSingle(canvas.current, (hit) => model.hover(hit));
    } catch (error) {
      setFault(messageOf(error));
      return;
    }
    canvas.current.focus();
    return () => {
      single.current?.destroy();
      single.current = null;
      model.hover(null);
    };
  }, []);
  useLayoutEffect(() => single.current?.setAppearance(appearance), [appearance]);
  useLayoutEffect(() => single.current?.setStore(store), [store]);
  useLayoutEffect(() => {
    if (row >= 0) single.current?.show(row, item);
  }, [store, row, item]);

  const sample = store.peek(row, appearance.primary);
  const count = sample?.kind === "items" ? sample.count : 1;
  // Values of masks are classes, which have no black and white.
  const picture = store.view.tensors.some((t) => t.name === appearance.primary && isPicture(t));
  const chosen = useApp((s) => s.windows.get(appearance.primary));
  useLayoutEffect(() => single.current?.setWindow(chosen ?? null), [chosen]);
  const player = usePlayer(store, row, appearance.primary, count);
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const item = model.get().place.item;
    if (e.key === "Escape") model.looks.setMode(appearance.primary ? "grid" : "table");
    else if (e.key === "ArrowLeft" || e.key === "p") stepRow(model, store, -1);
    else if (e.key === "ArrowRight" || e.key === "n") stepRow(model, store, 1);
    else if (e.key === " " && count > 1) player.toggle();
    else if (e.key === "," && count > 1) model.navigation.move({ item: (item + count - 1) % count });
    else if (e.key === "." && count > 1) model.navigation.move({ item: (item + 1) % count });
    else if (!single.current?.key(e)) return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="single" data-testid="single" role="region" aria-label={`Row ${row}`} onKeyDown={onKeyDown}>
      <RowTools store={store} row={row} back={appearance.primary ? "grid" : "table"}>
        <IconButton icon="minus" label="Zoom out" onClick={() => single.current?.zoom(1 / zoomStep)} />
        <IconButton icon="plus" label="Zoom in" onClick={() => single.current?.zoom(zoomStep)} />
        <IconButton icon="fit" label="Fit to the window" onClick={() => single.current?.fit()} />
      </RowTools>
      <canvas ref={canvas} class="single-canvas" tabIndex={0} role="img"
        aria-label={`Row ${row}${count > 1 ? `, item ${item + 1} of ${count}` : ""}`} />
      {fault && <p class="fault" role="alert">The picture cannot be drawn here: {fault}</p>}
      <Captions store={store} appearance={appearance} row={row} itemOf={() => item} />
      {count > 1 && <Player count={count} item={item} player={player} />}
      <WindowSliders key={`${row} ${appearance.primary}`} name={appearance.primary}
        range={useRange(picture ? sample : undefined, item)} />
    </div>
  );
}

function useRange(sample: ReturnType<SampleStore["peek"]>, item: number): Range | null {
  const one = itemOf(sample, item);
  // Reading all values again for each frame would cost too much.
  return useMemo(() => rangeOf(one), [one]);
}

interface PlayerState {
  playing: boolean;
  rate: number;
  toggle: () => void;
  setRate: (rate: number) => void;
}

function usePlayer(store: SampleStore, row: number, primary: string, count: number): PlayerState {
  const model = useModel();
  const [playing, setPlaying] = useState(false);
  const [rate, setRate] = useState(10);
  useEffect(() => setPlaying(false), [store, row]);
  useEffect(() => {
    if (!playing || count < 2) return;
    const timer = setInterval(() => {
      const { item } = model.get().place;
      const next = nextItem(store.peek(row, primary), item);
      const from = (next + 1) % count;
      store.want([{ rows: [row], columns: [{ name: primary, pixels: 0, items: [from, Math.min(count, from + ahead)] }] }],
        "player");
      if (next !== item) model.navigation.move({ item: next });
    }, 1000 / rate);
    return () => {
      clearInterval(timer);
      store.want([], "player");
    };
  }, [playing, rate, store, row, primary, count]);
  return { playing, rate, setRate, toggle: () => setPlaying((on) => !on) };
}

function Player({ count, item, player }: { count: number; item: number; player: PlayerState }) {
  const model = useModel();
  return (
    <div class="tools player" role="group" aria-label="Sequence">
      <IconButton icon={player.playing ? "pause" : "play"} pressed={player.playing}
        label={player.playing ? "Pause (space)" : "Play (space)"} onClick={player.toggle} />
      <input type="range" min={0} max={count - 1} value={item} aria-label="Item"
        aria-valuetext={`${item + 1} of ${count}`}
        onInput={(e) => model.navigation.move({ item: Number(e.currentTarget.value) })} />
      <span class="count">{item + 1} / {count}</span>
      <select aria-label="Items per second" value={player.rate}
        onChange={(e) => player.setRate(Number(e.currentTarget.value))}>
        {rates.map((rate) => <option key={rate} value={rate}>{rate} fps</option>)}
      </select>
    </div>
  );
}

/** Chooses the values that are black and white, for all rows of a tensor of pictures. */
function WindowSliders({ range, name }: { range: Range | null; name: string }) {
  const model = useModel();
  const chosen = useApp((s) => s.windows.get(name));
  const first = useRef<Range | null>(null);
  // The ends stay while a sequence plays, so that the sliders do not move by themselves.
  first.current ??= range;
  if (!first.current) return null;
  const ends = endsOf(first.current, chosen);
  const choose = (next: Range | null): void => {
    const windows = new Map(model.get().windows);
    if (next) windows.set(name, next);
    else windows.delete(name);
    model.set({ windows });
  };
  const { low, high } = chosen ?? first.current;
  const change = (next: Range): void => {
    if (next.low < next.high) choose(next);
  };
  const slider = { type: "range", min: ends.low, max: ends.high, step: "any" } as const;
  return (
    <div class="tools window" role="group" aria-label="Range of values">
      <label>Black <input {...slider} value={low} aria-valuetext={formatNumber(low)}
        onInput={(e) => change({ low: Number(e.currentTarget.value), high })} /></label>
      <span class="count">{formatNumber(low)}</span>
      <label>White <input {...slider} value={high} aria-valuetext={formatNumber(high)}
        onInput={(e) => change({ low, high: Number(e.currentTarget.value) })} /></label>
      <span class="count">{formatNumber(high)}</span>
      <button type="button" class="plain" disabled={!chosen} onClick={() => choose(null)}>Reset</button>
    </div>
  );
}
