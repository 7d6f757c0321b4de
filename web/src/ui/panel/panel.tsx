// The right panel: all tensors of the selected row.

import { useEffect, useState } from "preact/hooks";
import { sourceColumn } from "../../data/cells";
import { ApiError, messageOf } from "../../data/errors";
import type { Tensor } from "../../data/protocol";
import type { SampleRecord } from "../../data/records";
import type { SampleStore } from "../../data/samples";
import { useApp, useModel } from "../hooks/app";
import { copyText } from "../hooks/browser";
import { useSample, useSamples } from "../hooks/requests";
import { isSmall, isVideo } from "../model/tensors";
import { formatCount, formatForm } from "../text/format";
import { pythonString } from "../text/tql";
import { IconButton } from "../widgets/icons";
import { SampleValue } from "../widgets/value";
import { fileOf, save, saveFrom } from "./download";

const page = 50;
/** Of the picture that comes with the facts of a video. */
const factsPixels = 128;

export function RowPanel() {
  const store = useApp((s) => s.store);
  const row = useApp((s) => s.place.row);
  const [shown, setShown] = useState(page);
  useSamples(store);
  if (!store) return null;
  const { tensors, rows } = store.view;
  const there = row >= 0 && row < rows;
  return (
    <div class="row-panel" data-testid="row-panel">
      {there ? <>
        <RowHead store={store} row={row} />
        {tensors.slice(0, shown).map((tensor) =>
          <Value key={tensor.name} store={store} row={row} tensor={tensor} />)}
        {shown < tensors.length && <button type="button" class="more"
          onClick={() => setShown(shown + page)}>
          {formatCount(tensors.length - shown, "more tensor")}</button>}
      </> : <p class="quiet">Select a row to see its values.</p>}
    </div>
  );
}

/** Python that reads a row: by its number in the dataset, or in the result of a query. */
export function rowCode(at: string, query: string, row: number, index: number | undefined): string {
  const version = `ds${at ? `.at(${pythonString(at)})` : ""}`;
  if (query === "" || index !== undefined) return `${version}[${index ?? row}]`;
  return `${version}.query(${pythonString(query)})[${row}]`;
}

function RowHead({ store, row }: { store: SampleStore; row: number }) {
  const model = useModel();
  const { at, query } = useApp((s) => s.place);
  const source = useSample(store, row, sourceColumn, store.view.sources === true).value;
  const file = source?.kind === "text" ? source.text : "";
  const index = store.index(row);
  const code = rowCode(at, query, row, index);
  const copy = async (text: string, what: string): Promise<void> =>
    model.say(await copyText(text) ? `Copied ${what}` : `The browser forbids copying: ${text}`);
  return (
    <div class="row-head">
      <h2>Row {row.toLocaleString("en")}
        {index !== undefined && index !== row &&
          <span class="quiet"> {index.toLocaleString("en")} in the dataset</span>}</h2>
      <div class="snippet">
        <code>{code}</code>
        <IconButton icon="copy" label="Copy the code" onClick={() => void copy(code, code)} />
        <IconButton icon="link" label="Copy the link to this row"
          onClick={() => void copy(model.navigation.link({ row }), "the link")} />
      </div>
      {file && <div class="snippet" data-testid="source">
        <span class="quiet">from</span> <code>{file}</code>
        <IconButton icon="copy" label="Copy the name of the file" onClick={() => void copy(file, file)} />
      </div>}
    </div>
  );
}

function Value({ store, row, tensor }: { store: SampleStore; row: number; tensor: Tensor }) {
  const model = useModel();
  const [asked, setAsked] = useState(false);
  const small = isSmall(tensor);
  // The consent to load a large value holds for one row.
  useEffect(() => setAsked(false), [store, row]);
  const task = useSample(store, row, tensor.name, small || asked);
  const sample = task.value ?? store.peek(row, tensor.name);
  const isFile = tensor.draw === "image" || !small;
  const film = isVideo(tensor);
  useEffect(() => {
    if (!film) return;
    const owner = `panel ${tensor.name}`;
    store.want([{ rows: [row], columns: [{ name: tensor.name, pixels: factsPixels }] }], owner);
    return () => store.want([], owner);
  }, [store, row, tensor.name, film]);
  const download = async (): Promise<void> => {
    try {
      const name = await downloadSample(model, row, tensor, model.get().place.item);
      model.say(name ? `Saved ${name}` : "There is nothing to save.");
    } catch (error) {
      model.say(messageOf(error));
    }
  };
  return (
    <section class="value" aria-label={tensor.name}>
      <header class="value-head">
        <h3 title={tensor.name}>{tensor.name}</h3>
        <span class="quiet">{tensor.htype !== "generic" ? tensor.htype : ""} {formatForm(tensor)}</span>
        {isFile && <IconButton icon="download" label={`Download ${tensor.name} of this row`}
          onClick={() => void download()} />}
      </header>
      {task.error ? <p class="fault">{task.error}</p>
        : <SampleValue sample={sample} tensor={tensor} whole={task.value !== undefined} />}
      {!small && !asked && tensor.draw !== "image" && !film && <button type="button" class="more"
        onClick={() => setAsked(true)}>Show values</button>}
      {task.busy && (small || asked) && !sample && <p class="quiet">Loading…</p>}
    </section>
  );
}

/** Saves the stored file of a sample, or its array; returns the name of the file. */
async function downloadSample(model: ReturnType<typeof useModel>, row: number, tensor: Tensor,
  item: number): Promise<string> {
  if (isVideo(tensor) && model.get().view?.videos) {
    try {
      const { url, name } = await model.views.withView((view) => model.client.video(view.view, row, tensor.name));
      saveFrom(url, name);
      return name;
    } catch (error) {
      // Rows that a query computes have no table to read the file by: it comes as a whole.
      if (!(error instanceof ApiError && error.kind === "unsupported")) throw error;
    }
  }
  const records: SampleRecord[] = [];
  const column = tensor.sequence ? { name: tensor.name, items: [item, item + 1] as [number, number] }
    : { name: tensor.name };
  await model.views.withView((view) => {
    records.length = 0;
    return model.client.samples({ view: view.view, rows: [row], columns: [column] },
      (record) => records.push(record));
  });
  const [record] = records;
  if (record?.header.kind === "error") throw new Error(record.header.message ?? "it cannot be read");
  const file = record && fileOf(record);
  if (!file) return "";
  save(file);
  return file.name;
}
