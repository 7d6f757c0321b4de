// The dialog that saves the shown rows as a view of the dataset.

import { useState } from "preact/hooks";
import type { View } from "../../data/protocol";
import { useApp, useModel } from "../hooks/app";
import { formatCount } from "../text/format";
import { Dialog } from "../widgets/dialog";

/** `picked`: rows that were chosen one by one, so that no query finds them. */
export function savedRows(view: Pick<View, "rows" | "query"> | null, picked: boolean): string {
  const rows = view?.rows ?? 0;
  if (picked) return formatCount(rows, "selected row");
  return `${view?.query ?? "All rows"}: ${formatCount(rows, "row")}`;
}

export function SaveView() {
  const model = useModel();
  const view = useApp((s) => s.view);
  const picked = useApp((s) => s.picked);
  const [name, setName] = useState("");
  const [replace, setReplace] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const save = async (e: Event): Promise<void> => {
    e.preventDefault();
    if (name === "" || busy) return;
    setBusy(true);
    setFault(await model.queries.save(name, replace));
    setBusy(false);
  };
  return (
    <Dialog title="Save as a view">
      <form class="save" onSubmit={(e) => void save(e)}>
        <p class="quiet">{savedRows(view, picked)}</p>
        <label>Name <input type="text" data-testid="save-name" value={name} required
          onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label><input type="checkbox" checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} />
          {" "}Replace a view of this name</label>
        <button type="submit" class="primary" data-testid="save-now" aria-busy={busy}>
          {busy ? "Saving…" : "Save"}</button>
        {fault !== "" && <p class="fault" role="alert">{fault}</p>}
      </form>
    </Dialog>
  );
}
