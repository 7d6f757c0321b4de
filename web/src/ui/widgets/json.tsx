// A tree of a JSON value. Members are elements only while their parent is open.

import { useState } from "preact/hooks";

const page = 100;
const openDepth = 2;
const openMembers = 20;
const longText = 200;

function members(value: object): [string, unknown][] {
  return Array.isArray(value) ? value.map((item, i) => [String(i), item]) : Object.entries(value);
}

function Leaf({ value }: { value: string | number | boolean | null }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span class="json-value">{String(value)}</span>;
  const cut = !whole && value.length > longText;
  return (
    <span class="json-text">
      "{cut ? value.slice(0, longText) : value}"
      {cut && <button type="button" class="more" onClick={() => setWhole(true)}>
        … {(value.length - longText).toLocaleString("en")} more</button>}
    </span>
  );
}

export function Json({ name, value, depth = 0 }: { name?: string; value: unknown; depth?: number }) {
  const key = name !== undefined && <span class="json-key">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    const leaf = typeof value === "number" || typeof value === "boolean" || typeof value === "string"
      ? value : null;
    return <div class="json-line">{key}<Leaf value={leaf} /></div>;
  }
  return <Branch label={key} value={value} depth={depth} />;
}

function Branch({ label, value, depth }: {
  label: preact.ComponentChildren; value: object; depth: number;
}) {
  const list = members(value);
  const [open, setOpen] = useState(depth < openDepth && list.length <= openMembers);
  const [shown, setShown] = useState(page);
  const array = Array.isArray(value);
  const count = `${array ? "[" : "{"}${list.length.toLocaleString("en")}${array ? "]" : "}"}`;
  if (list.length === 0) return <div class="json-line">{label}{array ? "[]" : "{}"}</div>;
  return (
    <div class="json-branch">
      <button type="button" class="json-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}<span class="quiet">{count}</span>
      </button>
      {open && <div class="json-members">
        {list.slice(0, shown).map(([key, item]) =>
          <Json key={key} name={key} value={item} depth={depth + 1} />)}
        {shown < list.length && <button type="button" class="more"
          onClick={() => setShown(shown + page)}>
          {Math.min(page, list.length - shown)} more of {list.length - shown}</button>}
      </div>}
    </div>
  );
}
