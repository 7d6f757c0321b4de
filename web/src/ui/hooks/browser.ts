// The browser around a component: the part in sight, the width of the window, the clipboard.

import { useEffect, useRef, useState } from "preact/hooks";

/** Reports whether the element has been in sight once. */
export function useSeen<E extends Element>(): [{ current: E | null }, boolean] {
  const ref = useRef<E>(null);
  const [seen, set] = useState(false);
  useEffect(() => {
    if (seen || !ref.current) return;
    if (typeof IntersectionObserver === "undefined") {
      set(true);
      return;
    }
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) set(true);
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [seen]);
  return [ref, seen];
}

/** The width up to which the window counts as narrow; style.css has it too. */
const narrowWindow = "(max-width: 760px)";

export function useNarrow(): boolean {
  const [narrow, set] = useState(() => globalThis.matchMedia?.(narrowWindow).matches ?? false);
  useEffect(() => {
    const query = globalThis.matchMedia?.(narrowWindow);
    if (!query) return;
    const changed = (): void => set(query.matches);
    changed();
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

/** Copies text; false: the browser forbids it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
