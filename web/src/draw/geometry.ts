// The arithmetic of the virtual grid and of pan and zoom. Lengths are CSS pixels.

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The places of all cells. The scroll position counts from the top of the first line. */
export interface Layout {
  rows: number;
  columns: number;
  /** Side of a picture. */
  cell: number;
  /** Width of a cell: that of its pictures. */
  cellWidth: number;
  /** Height of a cell: its side and the lines of text under it. */
  cellHeight: number;
  /** Left edge of the first column. */
  left: number;
  /** From the left edge of a column to the next one. */
  stepX: number;
  stepY: number;
  lines: number;
  width: number;
  height: number;
  /** Height of all lines. A double counts it exactly far beyond a billion rows. */
  total: number;
  maxScroll: number;
}

export const minCell = 32;
export const maxCell = 1024;
export const scrollbarWidth = 12;
const minThumb = 28;

/** Space between cells: small cells stand closer. */
export function gapOf(cell: number): number {
  return cell < 64 ? 2 : cell < 128 ? 4 : 8;
}

export function layout(width: number, height: number, rows: number, side: number,
  caption: number, panes = 1): Layout {
  const gap = gapOf(side);
  const free = Math.max(1, width - scrollbarWidth - gap);
  const cell = Math.max(1, Math.min(clamp(side, minCell, maxCell), (free - gap) / panes));
  const cellWidth = cell * panes;
  const stepX = cellWidth + gap;
  const columns = Math.max(1, Math.floor(free / stepX));
  const cellHeight = cell + caption;
  const stepY = cellHeight + gap;
  const lines = Math.ceil(rows / columns);
  const total = lines * stepY + (lines > 0 ? gap : 0);
  return {
    rows, columns, cell, cellWidth, cellHeight, stepX, stepY, lines, width, height, total,
    left: gap + Math.max(0, Math.floor((free - columns * stepX) / 2)),
    maxScroll: Math.max(0, total - height),
  };
}

/** Returns the top of a line, from the top of the first one. */
export function lineTop(l: Layout, line: number): number {
  return line * l.stepY + (l.stepY - l.cellHeight);
}

/**
 * Returns the top of the strip of a line, in device pixels from the top of the grid. Strips meet in
 * the middle of the gaps, so that a strip holds the whole outline of a picture.
 */
export function stripTop(l: Layout, line: number, ratio: number): number {
  return Math.floor((line * l.stepY + (l.stepY - l.cellHeight) / 2) * ratio);
}

/** Returns the lines whose cells a window of the grid shows; `to` is behind the last one. */
export function linesIn(l: Layout, scroll: number, height: number): { from: number; to: number } {
  const gap = l.stepY - l.cellHeight;
  const from = clamp(Math.floor(scroll / l.stepY), 0, l.lines);
  return { from, to: clamp(Math.ceil((scroll + height - gap) / l.stepY), from, l.lines) };
}

/** Returns the rows of some lines; `to` is behind the last one. */
export function rowsOf(l: Layout, lines: { from: number; to: number }): { from: number; to: number } {
  return { from: lines.from * l.columns, to: Math.min(l.rows, lines.to * l.columns) };
}

/** Returns the place of a cell in the window. */
export function cellRect(l: Layout, scroll: number, row: number): Rect {
  const line = Math.floor(row / l.columns);
  return {
    x: l.left + (row - line * l.columns) * l.stepX, y: lineTop(l, line) - scroll,
    width: l.cellWidth, height: l.cellHeight,
  };
}

/** Returns the row whose cell lies under a point of the window; -1: none. */
export function rowAt(l: Layout, scroll: number, x: number, y: number): number {
  const line = Math.floor((y + scroll) / l.stepY);
  const column = Math.floor((x - l.left) / l.stepX);
  if (line < 0 || column < 0 || column >= l.columns) return -1;
  const row = line * l.columns + column;
  if (row >= l.rows) return -1;
  return inside(cellRect(l, scroll, row), x, y) ? row : -1;
}

/** Returns the scroll position nearest to `scroll` that shows a row. */
export function scrollToShow(l: Layout, scroll: number, row: number): number {
  const line = Math.floor(clamp(row, 0, Math.max(0, l.rows - 1)) / l.columns);
  const top = line * l.stepY;
  const bottom = lineTop(l, line) + l.cellHeight + (l.stepY - l.cellHeight);
  if (top < scroll || bottom - top > l.height) return clamp(top, 0, l.maxScroll);
  return clamp(Math.max(scroll, bottom - l.height), 0, l.maxScroll);
}

/**
 * Returns the scroll position that keeps a row at its height in the window after a new layout. A
 * grid that shows its first line from the top goes on to do so.
 */
export function keepRow(before: Layout, scroll: number, after: Layout, row: number): number {
  if (scroll <= 0 && row < before.columns) return 0;
  const y = lineTop(before, Math.floor(row / before.columns)) - scroll;
  return clamp(lineTop(after, Math.floor(row / after.columns)) - y, 0, after.maxScroll);
}

/** Returns the thumb of the scrollbar; undefined: all rows are in sight. */
export function thumb(l: Layout, scroll: number): Rect | undefined {
  if (l.maxScroll <= 0) return undefined;
  const height = Math.min(l.height, Math.max(minThumb, l.height * l.height / l.total));
  const y = (l.height - height) * clamp(scroll / l.maxScroll, 0, 1);
  return { x: l.width - scrollbarWidth, y, width: scrollbarWidth, height };
}

/** Returns the scroll position at which the top of the thumb is at `y`. */
export function scrollOfThumb(l: Layout, y: number): number {
  const bar = thumb(l, 0);
  if (!bar || l.height <= bar.height) return 0;
  return clamp(y / (l.height - bar.height), 0, 1) * l.maxScroll;
}

/** Returns the row that a key moves the selection to; undefined: not a key of the grid. */
export function rowOfKey(l: Layout, key: string, row: number): number | undefined {
  const page = Math.max(1, Math.floor(l.height / l.stepY)) * l.columns;
  const last = l.rows - 1;
  if (last < 0) return undefined;
  const from = clamp(row, 0, last);
  switch (key) {
    case "ArrowLeft": return Math.max(0, from - 1);
    case "ArrowRight": return Math.min(last, from + 1);
    // A step to a line that has no such column stays, except that the last line takes it in.
    case "ArrowUp": return from >= l.columns ? from - l.columns : from;
    case "ArrowDown":
      if (from + l.columns <= last) return from + l.columns;
      return Math.floor(from / l.columns) < l.lines - 1 ? last : from;
    case "PageUp": return from - page >= 0 ? from - page : from % l.columns;
    case "PageDown": return Math.min(last, from + page);
    case "Home": return 0;
    case "End": return last;
    default: return undefined;
  }
}

/**
 * Returns the largest centred place for a picture within a rectangle; a picture without area has an
 * empty one.
 */
export function fit(width: number, height: number, into: Rect, maxScale = Infinity): Rect {
  if (!(width > 0) || !(height > 0)) return { x: into.x, y: into.y, width: 0, height: 0 };
  const scale = Math.min(into.width / width, into.height / height, maxScale);
  const w = width * scale;
  const h = height * scale;
  return { x: into.x + (into.width - w) / 2, y: into.y + (into.height - h) / 2, width: w, height: h };
}

/** Returns the size of thumbnails for a cell: its device pixels, rounded up to a power of two. */
export function thumbnailSize(cell: number, ratio: number): number {
  const pixels = Math.ceil(cell * ratio);
  let size = 64;
  while (size < pixels && size < 1024) size *= 2;
  return size;
}

export function inside(r: Rect, x: number, y: number): boolean {
  return x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
}

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}

/** Shows the point (wx, wy) of the world at (wx * scale + x, wy * scale + y), in device pixels. */
export interface Transform {
  scale: number;
  x: number;
  y: number;
}

/** Shows the point (px, py) of a picture at (px * scale + x, py * scale + y) of the window. */
export interface Zoom {
  scale: number;
  x: number;
  y: number;
}

/** The zoom that shows a picture whole and in the middle. */
export function zoomToFit(width: number, height: number, w: number, h: number): Zoom {
  const margin = Math.min(16, w / 8, h / 8);
  const place = fit(width, height,
    { x: margin, y: margin, width: w - 2 * margin, height: h - 2 * margin });
  const scale = place.width > 0 ? place.width / width : 1;
  return { scale, x: (w - width * scale) / 2, y: (h - height * scale) / 2 };
}

/** Zooms by a factor while the point (x, y) of the window keeps its place. */
export function zoomAt(zoom: Zoom, factor: number, x: number, y: number, low: number,
  high: number): Zoom {
  const scale = clamp(zoom.scale * factor, low, high);
  const ratio = scale / zoom.scale;
  return { scale, x: x - (x - zoom.x) * ratio, y: y - (y - zoom.y) * ratio };
}

/** Keeps some of the picture in the window. */
export function keepInSight(zoom: Zoom, width: number, height: number, w: number,
  h: number): Zoom {
  const margin = Math.min(48, w / 4, h / 4);
  return {
    scale: zoom.scale,
    x: clamp(zoom.x, margin - width * zoom.scale, w - margin),
    y: clamp(zoom.y, margin - height * zoom.scale, h - margin),
  };
}

export function toPicture(zoom: Zoom, x: number, y: number): { x: number; y: number } {
  return { x: (x - zoom.x) / zoom.scale, y: (y - zoom.y) / zoom.scale };
}
