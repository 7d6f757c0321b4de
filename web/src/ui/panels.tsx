// The panels at the sides: their widths and dividers, which a tab remembers.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useApp, useModel } from "./hooks/app";
import type { Panel, State, Store } from "./model/state";

export const leastWidth = 180;
export const mostWidth = 640;
const defaults = { left: 260, right: 320 } as const;
const step = 16;
const storageName = "deeplake-panels";
// Below these widths of the window the grid would have no room beside the panels.
const roomForLeft = 700;
const roomForRight = 1000;

type Side = "left" | "right";

const names: Record<Side, string> = { left: "Width of tensors and filters", right: "Width of the selected row" };

/** A panel with the divider at its inner edge. */
export function SidePanel({ side, children }: { side: Side; children: ComponentChildren }) {
  const width = useApp((s) => s[side].width);
  const look = { id: `panel-${side}`, class: `panel panel-${side}`, style: { width: `${width}px` } };
  const divider = <Divider side={side} width={width} />;
  return side === "left" ? <nav {...look} aria-label="Tensors and filters">{children}{divider}</nav>
    : <aside {...look} aria-label="Selected row">{divider}{children}</aside>;
}

function Divider({ side, width }: { side: Side; width: number }) {
  const model = useModel();
  const from = useRef<{ x: number; width: number } | null>(null);
  const outward = side === "left" ? 1 : -1;
  const set = (next: number): void => model.set({ [side]: { ...model.get()[side], width: clampWidth(next) } });
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const by = e.shiftKey ? 4 * step : step;
    if (e.key === "ArrowRight") set(width + outward * by);
    else if (e.key === "ArrowLeft") set(width - outward * by);
    else if (e.key === "Home") set(leastWidth);
    else if (e.key === "End") set(mostWidth);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="divider" role="separator" tabIndex={0} aria-orientation="vertical" aria-label={names[side]}
      aria-valuenow={width} aria-valuemin={leastWidth} aria-valuemax={mostWidth} aria-valuetext={`${width} pixels`}
      aria-controls={`panel-${side}`} data-testid={`divider-${side}`} title="Drag, or arrow keys; double click: as at first"
      onKeyDown={onKeyDown} onDblClick={() => set(defaults[side])}
      onPointerDown={(e) => {
        if (e.button !== 0) return;
        e.currentTarget.setPointerCapture(e.pointerId);
        from.current = { x: e.clientX, width };
      }}
      onPointerMove={(e) => {
        if (from.current) set(from.current.width + outward * (e.clientX - from.current.x));
      }}
      onPointerUp={() => (from.current = null)} onPointerCancel={() => (from.current = null)} />
  );
}

export function clampWidth(pixels: number): number {
  return Math.round(Math.min(mostWidth, Math.max(leastWidth, pixels)));
}

type Panels = Pick<State, Side>;

/**
 * Returns the panels of a new tab: those that the tab had, else those that the window has room for.
 */
export function firstPanels(storage: Pick<Storage, "getItem"> | null, windowWidth: number): Panels {
  const kept = read(storage);
  return {
    left: kept("left") ?? { open: windowWidth >= roomForLeft, width: defaults.left },
    right: kept("right") ?? { open: windowWidth >= roomForRight, width: defaults.right },
  };
}

function read(storage: Pick<Storage, "getItem"> | null): (side: Side) => Panel | undefined {
  let all: Partial<Record<Side, Partial<Panel>>> = {};
  try {
    const value: unknown = JSON.parse(storage?.getItem(storageName) ?? "{}");
    if (typeof value === "object" && value !== null) all = value;
  } catch {
    // The storage is forbidden or damaged: the panels get their defaults.
  }
  return (side) => {
    const { open, width } = all[side] ?? {};
    if (typeof open !== "boolean" || typeof width !== "number" || !Number.isFinite(width)) return undefined;
    return { open, width: clampWidth(width) };
  };
}

/** Writes the panels down whenever they change. */
export function keepPanels(state: Store<State>, storage: Pick<Storage, "setItem"> | null): void {
  let last: Panels = state.get();
  state.subscribe(() => {
    const { left, right } = state.get();
    if (left === last.left && right === last.right) return;
    last = { left, right };
    try {
      storage?.setItem(storageName, JSON.stringify(last));
    } catch {
      // The widths then last as long as the page.
    }
  });
}
