// The values of one changed row, before and after, below the pictures of a comparison.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Tensor } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import { useSample, useSamples } from "../hooks/requests";
import { isSmall } from "../model/tensors";
import { formatForm } from "../text/format";
import { changedTensors, isWhole, valueText, type ChangedTensor, type Comparison } from "./changes";

/** Enough to learn the size of a picture. */
const pixels = 32;

/** `row` counts within the stores; `rowBefore` and `rowAfter` are those of the versions. */
export function Values({ diff, from, to, before, after, row, rowBefore, rowAfter }: Comparison & {
  before: SampleStore; after: SampleStore; row: number; rowBefore: number; rowAfter: number;
}) {
  const tensors = useMemo(() => changedTensors(diff, from, to), [diff, from, to]);
  useSamples(after);
  useSamples(before);
  useEffect(() => {
    const sized = (of: "before" | "after") => tensors.flatMap((t) => {
      const tensor = t[of];
      return tensor && isSized(tensor) ? [{ name: tensor.name, pixels }] : [];
    });
    before.want([{ rows: [row], columns: sized("before") }], "values");
    after.want([{ rows: [row], columns: sized("after") }], "values");
    return () => {
      before.want([], "values");
      after.want([], "values");
    };
  }, [before, after, row, tensors]);
  return (
    <div class="changes" data-testid="changed-values" tabIndex={0} role="group" aria-label="Values of the changed row">
      <h3>Row {rowAfter.toLocaleString("en")}
        {rowBefore >= 0 && rowBefore !== rowAfter && <span class="quiet">, before: row {rowBefore.toLocaleString("en")}</span>}</h3>
      <table>
        <thead><tr><th scope="col">tensor</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
        <tbody>{tensors.map((t) => <Line key={`${row} ${t.name}`} {...t} stores={[before, after]} row={row} />)}</tbody>
      </table>
    </div>
  );
}

function isSized(tensor: Tensor): boolean {
  return ["image", "mask", "segments", "video"].includes(tensor.draw) && !tensor.sequence;
}

function Line({ name, before, after, stores, row }: ChangedTensor & {
  stores: [before: SampleStore, after: SampleStore]; row: number;
}) {
  const [asked, setAsked] = useState(false);
  const old = useValue(stores[0], row, before, asked);
  const now = useValue(stores[1], row, after, asked);
  // The tensor changed in another row.
  if (old.whole && now.whole && old.text === now.text) return null;
  const large = [before, after].some((tensor) => tensor && !isSmall(tensor) && !isSized(tensor));
  return (
    <tr>
      <th scope="row">{name}
        {large && !asked && <button type="button" class="more" onClick={() => setAsked(true)}>Show values</button>}</th>
      <td>{old.text}</td><td>{now.text}</td>
    </tr>
  );
}

/** Returns the text of a value. A large value is loaded on demand; its form stands there before. */
function useValue(store: SampleStore, row: number, tensor: Tensor | undefined, asked: boolean):
  { text: string; whole: boolean } {
  const loads = tensor !== undefined && !isSized(tensor) && (isSmall(tensor) || asked);
  const task = useSample(store, row, tensor?.name ?? "", loads);
  if (!tensor) return { text: "no such tensor", whole: false };
  const sample = task.value ?? store.peek(row, tensor.name);
  const text = task.error || valueText(sample, tensor);
  return { text: text ?? (loads || isSized(tensor) ? "…" : formatForm(tensor)), whole: isWhole(sample) };
}
