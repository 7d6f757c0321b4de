// The dialog that saves what is shown as a view of the dataset.

import { useState } from "preact/hooks";
import { Dialog } from "./dialog";
import { useApp, useModel } from "./hooks";

export function SaveView() {
  const model = useModel();
  const view = useApp((s) => s.view);
  const [name, setName] = useState("");
  const [replace, setReplace] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const save = async (e: Event): Promise<void> => {
    e.preventDefault();
    if (name === "" || busy) return;
    setBusy(true);
    setFault(await model.saveView(name, replace));
    setBusy(false);
  };
  return (
    <Dialog title="Save as a view">
      <form class="save" onSubmit={(e) => void save(e)}>
        <p class="quiet">{view?.query ?? "All rows"}: {(view?.rows ?? 0).toLocaleString("en")} rows</p>
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
