// Rows as a table of small pictures and values.

import { useEffect, useId, useRef } from "preact/hooks";
import type { Tensor } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import { formatDuration } from "../../draw/format";
import { itemOf } from "../../draw/plan";
import { useApp, useModel } from "../hooks/app";
import { useSamples } from "../hooks/requests";
import { isPicture, isSmall, isSortable, isVideo } from "../model/tensors";
import { describe } from "../text/describe";
import { nextOrder, orderOf } from "../text/sort";
import { useVirtual } from "../widgets/virtual";
import { isShowable, texelsOf, Thumbnail } from "./thumbnail";

const headHeight = 28;
const mostColumns = 40;
const mostPictures = 8;
const thumbnailSide = 48;
/** Enough to learn the size of a mask. */
const maskSide = 64;
/** Milliseconds between requests while the table scrolls. */
const wantInterval = 80;

export function Table({ store }: { store: SampleStore }) {
  const model = useModel();
  const selected = useApp((s) => s.place.row);
  const primary = useApp((s) => s.primary);
  const id = useId();
  useSamples(store);
  const { view } = store;
  const pictures = view.tensors.filter(isPictured).slice(0, mostPictures);
  const columns = [...pictures, ...view.tensors.filter((tensor) => !isPictured(tensor)).slice(0, mostColumns)];
  const rowHeight = pictures.length > 0 ? thumbnailSide + 6 : headHeight;
  const v = useVirtual(view.rows, rowHeight, headHeight);
  const rows = Array.from({ length: Math.max(0, v.span.end - v.span.first) }, (_, i) => v.span.first + i);
  const key = `${v.span.first} ${v.span.end}`;
  const lastWant = useRef(-Infinity);
  useEffect(() => {
    model.rows.scrolled(Math.floor(v.above), Math.min(v.inSight, view.rows));
    const want = (): void => {
      lastWant.current = performance.now();
      store.want(rows.length === 0 ? [] : [{
        rows, columns: columns.map((t) => ({ name: t.name, pixels: pixelsOf(t) })),
      }], "table");
    };
    // Rows that fly past are not requested; the store cancels requests for rows out of sight.
    const timer = setTimeout(want, Math.max(0, lastWant.current + wantInterval - performance.now()));
    return () => clearTimeout(timer);
  }, [store, key]);
  useEffect(() => () => store.want([], "table"), [store]);

  const open = (row: number): void => {
    if (!primary) return;
    model.rows.select(row);
    model.looks.setMode("single");
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    // The buttons of the headers have keys of their own.
    if (e.target !== e.currentTarget) return;
    const page = Math.max(1, v.inSight - 2);
    const step: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    let row = selected + (step[e.key] ?? 0);
    if (e.key === "Home") row = 0;
    else if (e.key === "End") row = view.rows - 1;
    else if (e.key === "Enter" && selected >= 0) {
      e.preventDefault();
      open(selected);
      return;
    }
    else if (!(e.key in step)) return;
    e.preventDefault();
    row = Math.min(view.rows - 1, Math.max(0, row));
    model.rows.select(row);
    v.reveal(row);
  };
  return (
    <div ref={v.ref} class="table" role="grid" tabIndex={0} aria-label="Rows" aria-rowcount={view.rows}
      data-testid="table" aria-activedescendant={rows.includes(selected) ? id : undefined} onScroll={v.onScroll} onKeyDown={onKeyDown}>
      <div class="table-row table-head" role="row">
        <span role="columnheader">row</span>
        {columns.map((t) => (isSortable(t) ? <SortHead key={t.name} tensor={t} />
          : <span key={t.name} role="columnheader" class={classOf(t)} title={`${t.name}: ${t.htype}`}>{t.name}</span>))}
      </div>
      <div class="virtual-content" style={{ height: `${v.content}px` }}>
        <div class="virtual-rows" style={{ transform: `translateY(${v.span.offset}px)` }}>
          {rows.map((row) => (
            <div key={row} id={row === selected ? id : undefined} class="table-row" role="row" aria-rowindex={row + 1} aria-selected={row === selected}
              style={{ height: `${rowHeight}px` }} onClick={() => model.rows.select(row)} onDblClick={() => open(row)}>
              <span role="gridcell" class="quiet">{row.toLocaleString("en")}</span>
              {columns.map((t) => <span key={t.name} role="gridcell" class={classOf(t)}><Cell store={store} row={row} tensor={t} /></span>)}
            </div>))}
        </div>
      </div>
    </div>
  );
}

function Cell({ store, row, tensor }: { store: SampleStore; row: number; tensor: Tensor }) {
  const sample = store.peek(row, tensor.name);
  const text = describe(sample, tensor, 8);
  const picture = isPictured(tensor) ? itemOf(sample, tensor, 0) : undefined;
  if (!isShowable(picture)) return <span title={text}>{text}</span>;
  return (
    <>
      <Thumbnail sample={picture} side={thumbnailSide} label={`${tensor.name}: ${text}`} />
      {picture.kind === "picture" && picture.film &&
        <span class="film-mark" aria-hidden="true">▶ {formatDuration(picture.film.seconds)}</span>}
    </>
  );
}

function isPictured(tensor: Tensor): boolean {
  return isPicture(tensor) || isVideo(tensor);
}

function classOf(tensor: Tensor): string | undefined {
  return isPictured(tensor) ? "picture-cell" : undefined;
}

function pixelsOf(tensor: Tensor): number {
  return isPictured(tensor) ? texelsOf(thumbnailSide) : isSmall(tensor) ? 0 : maskSide;
}

const marks = { ascending: " ▲", descending: " ▼", none: "" } as const;

function SortHead({ tensor }: { tensor: Tensor }) {
  const model = useModel();
  const order = useApp((s) => orderOf(s.place.query, tensor.name));
  return (
    <span role="columnheader" aria-sort={order}>
      <button type="button" class="sort" title={`${tensor.htype}: sort by ${tensor.name}`} data-testid={`sort-${tensor.name}`}
        onClick={() => void model.queries.run(nextOrder(model.get().draft, tensor.name))}>
        {tensor.name}<span aria-hidden="true">{marks[order]}</span></button>
    </span>
  );
}
