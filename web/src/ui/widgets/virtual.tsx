// Lists of any length: only the rows in sight are elements.

import type { ComponentChildren, Ref } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Browsers lose precision, or stop, above that many pixels. */
export const maxHeight = 8_000_000;
const overscan = 4;
const unknownHeight = 400;

export interface Span {
  /** Rows [first, end) are elements. */
  first: number;
  end: number;
  /** Where the first one stands, from the top of the scrolled content. */
  offset: number;
}

export interface Extent {
  count: number;
  rowHeight: number;
  /** Of the part in sight. */
  height: number;
}

/** The height of the scrolled content. */
export function contentHeight({ count, rowHeight }: Extent): number {
  return Math.min(count * rowHeight, maxHeight);
}

/** Returns the rows above the part in sight, with a fraction, for a place of the scroll bar. */
export function rowsAbove(scrollTop: number, extent: Extent): number {
  const whole = extent.count * extent.rowHeight;
  const path = contentHeight(extent) - extent.height;
  if (path <= 0) return 0;
  const part = Math.min(1, Math.max(0, scrollTop / path));
  return part * (whole - extent.height) / extent.rowHeight;
}

/** Returns the place of the scroll bar for a row at the top. */
export function scrollOf(row: number, extent: Extent): number {
  const whole = extent.count * extent.rowHeight - extent.height;
  if (whole <= 0) return 0;
  const part = Math.min(1, Math.max(0, row * extent.rowHeight / whole));
  return part * (contentHeight(extent) - extent.height);
}

export function spanOf(above: number, scrollTop: number, extent: Extent): Span {
  const { count, rowHeight, height } = extent;
  const first = Math.max(0, Math.min(count, Math.floor(above) - overscan));
  const end = Math.min(count, Math.ceil(above + height / rowHeight) + overscan);
  return { first, end: Math.max(first, end), offset: scrollTop + (first - above) * rowHeight };
}

export interface Virtual {
  ref: Ref<HTMLDivElement>;
  span: Span;
  content: number;
  /** Rows above the part in sight, with a fraction. */
  above: number;
  inSight: number;
  onScroll: (e: Event) => void;
  scrollToRow: (row: number) => void;
  /** Scrolls as little as brings the row in sight. */
  reveal: (row: number) => void;
}

export function useVirtual(count: number, rowHeight: number, header = 0): Virtual {
  const ref = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(unknownHeight);
  const [place, setPlace] = useState({ above: 0, scrollTop: 0 });
  const extent = { count, rowHeight, height: Math.max(rowHeight, height - header) };
  const scaled = count * rowHeight > maxHeight;
  const now = useRef({ extent, place });
  now.current = { extent, place };

  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = (): void => setHeight(element.clientHeight || unknownHeight);
    measure();
    if (typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const setAbove = (above: number): void => {
    const element = ref.current;
    const { extent } = now.current;
    const most = Math.max(0, extent.count - extent.height / extent.rowHeight);
    const clamped = Math.min(most, Math.max(0, above));
    const scrollTop = scrollOf(clamped, extent);
    if (element) element.scrollTop = scrollTop;
    // The element rounds; the rows follow the rounded place.
    setPlace({ above: clamped, scrollTop: element?.scrollTop ?? scrollTop });
  };

  // A pixel of the bar is many rows in a scaled list, so the wheel is taken over.
  useEffect(() => {
    const element = ref.current;
    if (!element || !scaled) return;
    const wheel = (e: WheelEvent): void => {
      if (e.ctrlKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) return;
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 1 : e.deltaMode === 2 ? now.current.extent.height / rowHeight
        : 1 / rowHeight;
      setAbove(now.current.place.above + e.deltaY * unit);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [scaled, rowHeight]);

  const onScroll = (e: Event): void => {
    const { scrollTop } = e.currentTarget as HTMLDivElement;
    if (scrollTop === now.current.place.scrollTop) return;
    setPlace({ above: rowsAbove(scrollTop, now.current.extent), scrollTop });
  };
  const reveal = (row: number): void => {
    const rows = Math.floor(extent.height / rowHeight);
    if (row < place.above) setAbove(row);
    else if (row >= place.above + rows) setAbove(row - rows + 1);
  };
  const most = Math.max(0, count - extent.height / rowHeight);
  const above = Math.min(place.above, most);
  return {
    ref, above, span: spanOf(above, Math.min(place.scrollTop, contentHeight(extent)), extent),
    content: contentHeight(extent), inSight: Math.ceil(extent.height / rowHeight), onScroll,
    scrollToRow: setAbove, reveal,
  };
}

export interface VirtualListProps {
  count: number;
  rowHeight: number;
  label: string;
  class?: string;
  role?: "list" | "presentation";
  render: (index: number) => ComponentChildren;
}

export function VirtualList(p: VirtualListProps) {
  const v = useVirtual(p.count, p.rowHeight);
  const rows: ComponentChildren[] = [];
  for (let i = v.span.first; i < v.span.end; i++) {
    rows.push(
      <div key={i} class="virtual-row" role="listitem" aria-setsize={p.count} aria-posinset={i + 1}
        style={{ height: `${p.rowHeight}px` }}>
        {p.render(i)}
      </div>);
  }
  return (
    <div ref={v.ref} class={`virtual ${p.class ?? ""}`} onScroll={v.onScroll} tabIndex={-1}>
      <div class="virtual-content" role={p.role ?? "list"} aria-label={p.label}
        style={{ height: `${v.content}px` }}>
        <div class="virtual-rows" style={{ transform: `translateY(${v.span.offset}px)` }}>{rows}</div>
      </div>
    </div>
  );
}
