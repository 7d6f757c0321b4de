// One row of two versions on top of each other, with a divider between before and after.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import type { SampleStore } from "../../data/samples";
import type { Single } from "../../draw/api";
import { useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { IconButton } from "../widgets/icons";

export function SliderView({ before, after, row, rows, show }: {
  before: SampleStore; after: SampleStore; row: number; rows: number; show: (row: number) => void;
}) {
  const model = useModel();
  const appearance = useAppearance();
  const under = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const views = useRef<Single[]>([]);
  const [part, setPart] = useState(50);
  const [fault, setFault] = useState("");
  const box = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    if (!under.current || !over.current) return;
    const open = (canvas: HTMLCanvasElement, other: number): Single =>
      model.drawing.openSingle(canvas, () => undefined, (look) => views.current[other]?.setLook(look));
    try {
      views.current = [open(under.current, 1)];
      views.current.push(open(over.current, 0));
    } catch (error) {
      setFault(messageOf(error));
    }
    return () => {
      for (const view of views.current) view.destroy();
      views.current = [];
    };
  }, []);
  useLayoutEffect(() => views.current.forEach((view) => view.setAppearance(appearance)), [appearance]);
  useLayoutEffect(() => {
    views.current[0]?.setStore(after);
    views.current[1]?.setStore(before);
  }, [before, after]);
  useLayoutEffect(() => views.current.forEach((view) => view.show(row, 0)), [before, after, row]);
  // The keys of the page below must not act while a dialog is open.
  const held = useRef(false);
  const place = (x: number): void => {
    const rect = box.current?.getBoundingClientRect();
    if (rect && rect.width > 0) setPart(clampPart(100 * (x - rect.left) / rect.width));
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    const by = e.shiftKey ? 10 : 1;
    if (e.key === "ArrowLeft" || e.key === "ArrowDown") setPart(clampPart(part - by));
    else if (e.key === "ArrowRight" || e.key === "ArrowUp") setPart(clampPart(part + by));
    else if (e.key === "Home") setPart(0);
    else if (e.key === "End") setPart(100);
    else return;
    e.preventDefault();
  };
  useEffect(() => setPart(50), [before, after]);
  const zoom = (factor: number): void => views.current[0]?.zoom(factor);
  return (
    <div class="slider-view" data-testid="slider-view">
      <div class="tools">
        <IconButton icon="left" label="Previous changed row" disabled={row <= 0} onClick={() => show(row - 1)} />
        <span class="count" role="status">{(row + 1).toLocaleString("en")} / {rows.toLocaleString("en")}</span>
        <IconButton icon="right" label="Next changed row" disabled={row >= rows - 1} onClick={() => show(row + 1)} />
        <span class="space" />
        <IconButton icon="minus" label="Zoom out" onClick={() => zoom(0.8)} />
        <IconButton icon="plus" label="Zoom in" onClick={() => zoom(1.25)} />
        <IconButton icon="fit" label="Fit to the window" onClick={() => views.current.forEach((view) => view.fit())} />
      </div>
      <div ref={box} class="slider-box">
        <canvas ref={under} class="slider-canvas" role="img" aria-label={`After: changed row ${row + 1}`} />
        <canvas ref={over} class="slider-canvas" role="img" aria-label={`Before: changed row ${row + 1}`}
          style={{ clipPath: `inset(0 ${100 - part}% 0 0)` }} />
        <div class="slider-handle" role="slider" tabIndex={0} aria-label="Divider between before and after"
          aria-valuenow={Math.round(part)} aria-valuemin={0} aria-valuemax={100}
          aria-valuetext={`${Math.round(part)} % before`} data-testid="slider" style={{ left: `${part}%` }}
          onKeyDown={onKeyDown}
          onPointerDown={(e) => {
            held.current = true;
            e.currentTarget.setPointerCapture(e.pointerId);
          }}
          onPointerMove={(e) => { if (held.current) place(e.clientX); }}
          onPointerUp={() => (held.current = false)} onPointerCancel={() => (held.current = false)} />
        <span class="slider-name before" aria-hidden="true">before</span>
        <span class="slider-name after" aria-hidden="true">after</span>
        {fault && <p class="fault" role="alert">The pictures cannot be drawn here: {fault}</p>}
      </div>
    </div>
  );
}

function clampPart(part: number): number {
  return Math.min(100, Math.max(0, part));
}
