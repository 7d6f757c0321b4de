// The map of embeddings: a point for each row, and a lasso that chooses rows.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import type { Projection } from "../../data/points";
import type { SampleStore } from "../../data/samples";
import { classOf, greyOf, rampRgb, rgbOf, type Rgb } from "../../draw/colors";
import { Scatter } from "../../draw/map/scatter";
import { fit, nearest, neighbours, within, zoomed, type Camera } from "../../draw/map/scattermath";
import { rangeOf } from "../../draw/pixels";
import { useApp, useModel } from "../hooks/app";
import { useSamples, useTask } from "../hooks/requests";
import { embeddings } from "../model/tensors";
import { describe } from "../text/describe";

const pickDistance = 12;
const hoverPixels = 128;
const plainIndex = 0;

/** Red, green, blue and emphasis of each point: by class, by value, or all alike. */
export function colorsOf(rows: Uint32Array, values: Float32Array | undefined, step: number, classes: boolean,
  selected: number, dark: boolean): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(4 * rows.length);
  const { low, high } = values ? rangeOf(values) : { low: 0, high: 1 };
  const known = new Map<number, Rgb>();
  for (let i = 0; i < rows.length; i++) {
    const value = values ? values[Math.floor(rows[i] / step)] : plainIndex;
    const key = classes || !values ? value : Math.round(255 * (value - low) / Math.max(high - low, 1e-30));
    let rgb = known.get(key);
    if (!rgb) {
      rgb = Number.isNaN(value) ? greyOf(dark) : classes || !values ? rgbOf(classOf(value), dark)
        : rampRgb(key / 255);
      known.set(key, rgb);
    }
    out.set(rgb, 4 * i);
    out[4 * i + 3] = rows[i] === selected ? 255 : 0;
  }
  return out;
}

export function EmbeddingMap({ store }: { store: SampleStore }) {
  const model = useModel();
  const { view } = store;
  const columns = embeddings(view);
  const [name, setName] = useState("");
  const column = columns.find((tensor) => tensor.name === name) ?? columns[0];
  const colorable = view.tensors.filter((tensor) => !tensor.sequence && (tensor.draw === "label" || tensor.draw === "number"));
  const [by, setBy] = useState<string | null>(null);
  const color = by === "" ? undefined : colorable.find((tensor) => tensor.name === by) ?? colorable[0];
  const found = useTask(column ? (signal) => model.views.withView(
    (of) => model.client.project(of, column.name, signal), signal) : null, [view, column?.name]);
  const step = found.value?.step ?? 0;
  const values = useTask(color && step > 0 ? (signal) => model.views.withView(
    (of) => model.client.values(of, color.name, step, signal), signal) : null, [view, color?.name, step]);
  if (!column) return <p class="empty">No tensor has the htype embedding.</p>;
  const shares = found.value?.variance.map((part) => `${(100 * part).toFixed(1)} %`).join(" + ") ?? "";
  return (
    <div class="map">
      <div class="tools map-tools">
        <label>Vectors <select value={column.name} data-testid="map-column" onChange={(e) => setName(e.currentTarget.value)}>
          {columns.map((tensor) => <option key={tensor.name} value={tensor.name}>{tensor.name}</option>)}</select></label>
        <label>Color <select value={color?.name ?? ""} data-testid="map-color" onChange={(e) => setBy(e.currentTarget.value)}>
          <option value="">none</option>
          {colorable.map((tensor) => <option key={tensor.name} value={tensor.name}>{tensor.name}</option>)}</select></label>
        {found.value && <span class="quiet" data-testid="map-about">
          {`PCA, ${shares} of the variance; ${found.value.points.toLocaleString("en")} points`}
          {found.value.step > 1 && `, every ${found.value.step}th row`}
          {found.value.skipped > 0 && `, ${found.value.skipped.toLocaleString("en")} rows without a vector`}</span>}
      </div>
      {found.busy && <p class="empty">Projecting…</p>}
      {(found.error || values.error) && <p class="fault" role="alert">{found.error || values.error}</p>}
      {found.value && !found.busy && <Field store={store} points={found.value}
        values={color ? values.value : undefined} classes={color?.draw === "label"} />}
    </div>
  );
}

function Field({ store, points, values, classes }: {
  store: SampleStore; points: Projection; values: Float32Array | undefined; classes: boolean;
}) {
  const model = useModel();
  const dark = useApp((s) => s.dark);
  const selected = useApp((s) => s.place.row);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scatter = useRef<Scatter | null>(null);
  const camera = useRef<Camera>({ scale: 1, dx: 0, dy: 0 });
  const [lasso, setLasso] = useState<number[]>([]);
  const [always, setAlways] = useState(false);
  const [count, setCount] = useState(20);
  const [hover, setHover] = useState<{ row: number; x: number; y: number } | null>(null);
  const [fault, setFault] = useState("");
  const drag = useRef<"" | "pan" | "lasso">("");
  const moved = useRef(0);
  const colors = useMemo(() => colorsOf(points.rows, values, points.step, classes, selected, dark),
    [points, values, classes, selected, dark]);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    try {
      scatter.current = new Scatter(element);
    } catch (error) {
      setFault(messageOf(error));
      return;
    }
    look(fit(points, element.clientWidth, element.clientHeight));
    const observer = new ResizeObserver(() => scatter.current?.invalidate());
    observer.observe(element);
    const wheel = (e: WheelEvent): void => {
      e.preventDefault();
      look(zoomed(camera.current, Math.exp(-Math.max(-50, Math.min(50, e.deltaY)) * 0.005), e.offsetX, e.offsetY));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      element.removeEventListener("wheel", wheel);
      observer.disconnect();
      scatter.current?.destroy();
      scatter.current = null;
    };
  }, [points]);
  useEffect(() => scatter.current?.set(points, colors, dark), [points, colors, dark]);

  const look = (to: Camera): void => {
    camera.current = to;
    scatter.current?.look(to);
  };
  const pick = (found: number[]): void => {
    if (found.length === 0) model.say("There is no point in it");
    else void model.views.pick(found.map((i) => points.rows[i]).sort((a, b) => a - b));
  };
  const up = (e: PointerEvent): void => {
    if (drag.current === "lasso" && lasso.length >= 6) pick(within(points, camera.current, lasso));
    else if (drag.current === "pan" && moved.current < 5) {
      const at = nearest(points, camera.current, e.offsetX, e.offsetY, pickDistance);
      if (at >= 0) model.rows.select(points.rows[at]);
    }
    drag.current = "";
    setLasso([]);
  };
  const move = (e: PointerEvent): void => {
    if (drag.current === "lasso") setLasso((before) => [...before, e.offsetX, e.offsetY]);
    else if (drag.current === "pan") {
      moved.current += Math.hypot(e.movementX, e.movementY);
      const { scale, dx, dy } = camera.current;
      look({ scale, dx: dx + e.movementX, dy: dy + e.movementY });
    } else {
      const at = nearest(points, camera.current, e.offsetX, e.offsetY, pickDistance);
      setHover(at < 0 ? null : { row: points.rows[at], x: e.offsetX, y: e.offsetY });
      model.hover(at < 0 ? null : { row: points.rows[at] });
    }
  };
  const key = (e: KeyboardEvent): void => {
    const { scale, dx, dy } = camera.current;
    const [width, height] = [canvas.current?.clientWidth ?? 0, canvas.current?.clientHeight ?? 0];
    const by = 40;
    if (e.key === "+" || e.key === "=") look(zoomed(camera.current, 1.25, width / 2, height / 2));
    else if (e.key === "-") look(zoomed(camera.current, 0.8, width / 2, height / 2));
    else if (e.key === "0") look(fit(points, width, height));
    else if (e.key === "ArrowLeft") look({ scale, dx: dx + by, dy });
    else if (e.key === "ArrowRight") look({ scale, dx: dx - by, dy });
    else if (e.key === "ArrowUp") look({ scale, dx, dy: dy + by });
    else if (e.key === "ArrowDown") look({ scale, dx, dy: dy - by });
    else if (e.key === "Enter") near();
    else if (e.key === "n" || e.key === "p") {
      const at = points.rows.indexOf(selected) + (e.key === "n" ? 1 : -1);
      model.rows.select(points.rows[(at + points.points) % points.points]);
    } else return;
    e.preventDefault();
  };
  const near = (): void => {
    const at = points.rows.indexOf(selected);
    if (at < 0) model.say("Select a point first: click it, or press n");
    else pick(neighbours(points, at, count));
  };
  return (
    <>
      <div class="tools map-tools">
        <button type="button" class="plain" aria-pressed={always} data-testid="map-lasso" title="Or hold Shift and drag"
          onClick={() => setAlways(!always)}>Lasso</button>
        <label>Nearest <input type="number" min={1} max={100_000} value={count} data-testid="map-count"
          onInput={(e) => setCount(Math.max(1, Math.floor(Number(e.currentTarget.value)) || 1))} /></label>
        <button type="button" class="plain" data-testid="map-near" onClick={near}>Show nearest to the selected point</button>
      </div>
      <div class="map-field">
        <canvas ref={canvas} class="map-canvas" data-testid="map" tabIndex={0} role="application"
          aria-label={`Map of ${points.points} points. n and p select points, Enter shows the nearest, plus and minus zoom, arrows move.`}
          onKeyDown={key} onPointerMove={move} onPointerUp={up} onPointerCancel={up}
          onPointerLeave={() => { setHover(null); model.hover(null); }}
          onPointerDown={(e) => {
            if (e.button !== 0) return;
            e.currentTarget.setPointerCapture(e.pointerId);
            moved.current = 0;
            drag.current = e.shiftKey || always ? "lasso" : "pan";
            if (drag.current === "lasso") setLasso([e.offsetX, e.offsetY]);
          }} />
        {lasso.length > 0 && <svg class="map-lasso" aria-hidden="true"><polygon points={lasso.join(" ")} /></svg>}
        {hover && <Hovered key={hover.row} store={store} {...hover} />}
        {fault && <p class="fault" role="alert">The map cannot be drawn here: {fault}</p>}
      </div>
    </>
  );
}

/** The picture and the labels of the point under the pointer. */
function Hovered({ store, row, x, y }: { store: SampleStore; row: number; x: number; y: number }) {
  const primary = useApp((s) => s.primary);
  const canvas = useRef<HTMLCanvasElement>(null);
  useSamples(store);
  const labels = store.view.tensors.filter((tensor) => tensor.draw === "label" || tensor.draw === "text").slice(0, 3);
  useEffect(() => {
    const columns = labels.map(({ name }) => ({ name, pixels: 0 }));
    if (primary) columns.unshift({ name: primary, pixels: hoverPixels });
    store.want([{ rows: [row], columns }], "map");
    return () => store.want([], "map");
  }, [store, row, primary]);
  const sample = primary ? store.peek(row, primary) : undefined;
  const picture = sample?.kind === "picture" ? sample : undefined;
  useEffect(() => {
    const to = canvas.current;
    if (!to || !picture) return;
    const part = hoverPixels / Math.max(picture.bitmap.width, picture.bitmap.height);
    to.width = Math.max(1, Math.round(part * picture.bitmap.width));
    to.height = Math.max(1, Math.round(part * picture.bitmap.height));
    to.getContext("2d")?.drawImage(picture.bitmap, 0, 0, to.width, to.height);
  }, [picture]);
  return (
    <div class="map-hover" data-testid="map-hover" style={{ left: `${x + 14}px`, top: `${y + 14}px` }}>
      {picture && <canvas ref={canvas} aria-hidden="true" />}
      <div>row {row}</div>
      {labels.map((tensor) => <div key={tensor.name}>{describe(store.peek(row, tensor.name), tensor, 4)}</div>)}
    </div>
  );
}
