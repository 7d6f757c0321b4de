// Holds a grid of samples: its canvas, its keys, and its text for screen readers.

import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import type { SampleStore } from "../../data/samples";
import type { Appearance, Grid, GridEvents } from "../../draw/api";
import { useApp, useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { useSamples } from "../hooks/requests";
import { describe } from "../text/describe";
import { formatCount } from "../text/format";

declare global {
  interface Window {
    /** For tests and figures. */
    __deeplake?: { grid: Grid | null };
  }
}

const describedTensors = 8;

export interface GridPaneProps {
  store: SampleStore;
  appearance: Appearance;
  cell: number;
  first: number;
  selected: number;
  label: string;
  testid: string;
  events: GridEvents;
  opened?: (grid: Grid | null) => void;
}

export function GridPane(p: GridPaneProps) {
  const model = useModel();
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useRef<Grid | null>(null);
  const events = useRef(p.events);
  events.current = p.events;
  const [fault, setFault] = useState("");

  useLayoutEffect(() => {
    if (!canvas.current) return;
    try {
      grid.current = model.drawing.openGrid(canvas.current, {
        selected: (row) => events.current.selected(row),
        opened: (row) => events.current.opened(row),
        hovered: (hit) => events.current.hovered(hit),
        scrolled: (first, count) => events.current.scrolled(first, count),
        resized: (pixels) => events.current.resized?.(pixels),
      });
    } catch (error) {
      setFault(messageOf(error));
      return;
    }
    p.opened?.(grid.current);
    return () => {
      p.opened?.(null);
      grid.current?.destroy();
      grid.current = null;
    };
  }, []);
  // Set the appearance and the cell size first: they decide which samples are requested.
  useLayoutEffect(() => grid.current?.setAppearance(p.appearance), [p.appearance]);
  useLayoutEffect(() => grid.current?.setCell(p.cell), [p.cell]);
  useLayoutEffect(() => {
    grid.current?.setStore(p.store);
    if (p.first > 0) grid.current?.scrollTo(p.first);
    if (p.selected >= 0) grid.current?.select(p.selected);
  }, [p.store]);

  const id = useId();
  const { rows } = p.store.view;
  return (
    <div class="grid-pane">
      <canvas ref={canvas} class="grid-canvas" data-testid={p.testid} tabIndex={0} role="grid"
        aria-label={p.label} aria-rowcount={rows}
        aria-activedescendant={p.selected >= 0 ? id : undefined}
        onKeyDown={(e) => {
          if (grid.current?.key(e)) e.preventDefault();
        }}>
        {p.selected >= 0 && <Selected id={id} store={p.store} row={p.selected} />}
      </canvas>
      {rows === 0 && <p class="empty">No rows</p>}
      {fault && <p class="fault" role="alert">Pictures cannot be drawn here: {fault}. The table works without.</p>}
    </div>
  );
}

/** The content of a canvas is for screen readers; browsers do not show it. */
function Selected({ id, store, row }: { id: string; store: SampleStore; row: number }) {
  useSamples(store);
  const parts = store.view.tensors.slice(0, describedTensors)
    .map((tensor) => [tensor.name, describe(store.peek(row, tensor.name), tensor, 8)] as const)
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `${name}: ${text}`);
  return (
    <div role="row" aria-rowindex={row + 1}>
      <div id={id} role="gridcell">{[`Row ${row}`, ...parts].join(". ")}</div>
    </div>
  );
}

/** The grid of the page. */
export function MainGrid({ store }: { store: SampleStore }) {
  const model = useModel();
  const place = useApp((s) => s.place);
  const appearance = useAppearance();
  useEffect(() => () => void (model.grid = null), [model]);
  return (
    <GridPane store={store} appearance={appearance} cell={place.cell} first={place.first}
      selected={place.row} label={`Grid of ${formatCount(store.view.rows, "row")}`} testid="grid"
      opened={(grid) => {
        model.grid = grid;
        window.__deeplake = { grid };
      }}
      events={{
        selected: (row) => model.rows.select(row),
        opened: (row) => {
          model.rows.select(row);
          model.looks.setMode("single");
        },
        hovered: (hit) => model.hover(hit),
        scrolled: (first, count) => model.rows.scrolled(first, count),
        resized: (pixels) => model.looks.setCell(pixels),
      }} />
  );
}
