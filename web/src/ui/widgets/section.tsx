// A part of a panel under a title that opens and closes it.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export function Section({ title, open = false, children }: {
  title: string; open?: boolean; children: ComponentChildren;
}) {
  const [shown, setShown] = useState(open);
  return (
    <section class="section">
      <h2><button type="button" class="section-title" aria-expanded={shown}
        onClick={() => setShown(!shown)}>{title}</button></h2>
      {shown && <div class="section-body">{children}</div>}
    </section>
  );
}
