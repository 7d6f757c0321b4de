// The tools above one row: back, and the rows beside it.

import type { ComponentChildren } from "preact";
import type { SampleStore } from "../../data/samples";
import { useModel } from "../hooks/app";
import type { Model } from "../model/model";
import { IconButton } from "../widgets/icons";

/** Selects the row that is so many rows away, if it is there. */
export function stepRow(model: Model, store: SampleStore, by: number): void {
  const next = model.get().place.row + by;
  if (next >= 0 && next < store.view.rows) model.rows.select(next);
}

export function RowTools({ store, row, back, children }: {
  store: SampleStore; row: number; back: "grid" | "table"; children?: ComponentChildren;
}) {
  const model = useModel();
  return (
    <div class="tools">
      <IconButton icon="left" label="Back (Escape)" onClick={() => model.looks.setMode(back)}> Back</IconButton>
      <IconButton icon="left" label="Previous row" disabled={row <= 0} onClick={() => stepRow(model, store, -1)} />
      <span class="count">{row.toLocaleString("en")} / {store.view.rows.toLocaleString("en")}</span>
      <IconButton icon="right" label="Next row" disabled={row >= store.view.rows - 1}
        onClick={() => stepRow(model, store, 1)} />
      <span class="space" />
      {children}
    </div>
  );
}
