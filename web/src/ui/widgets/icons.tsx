// The icons, as strokes of a 16 by 16 grid.

import type { ComponentChildren } from "preact";

const paths = {
  eye: "M1 8s2.5-4.5 7-4.5S15 8 15 8s-2.5 4.5-7 4.5S1 8 1 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  eyeOff: "M2 2l12 12M6.5 3.7A7 7 0 0 1 8 3.5c4.5 0 7 4.5 7 4.5a12 12 0 0 1-2.2 2.7M4 5a12 12 0 0 0-3 3s2.5 4.5 7 4.5c1 0 2-.2 2.8-.6",
  play: "M4 2.5v11l9-5.5z",
  pause: "M5 3v10M11 3v10",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  close: "M3 3l10 10M13 3L3 13",
  copy: "M6 6h7v8H6zM10 6V2H3v8h3",
  link: "M6.5 9.5l3-3M7 4.5l2-2a3.2 3.2 0 0 1 4.5 4.5l-2 2M9 11.5l-2 2A3.2 3.2 0 0 1 2.5 9l2-2",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  auto: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  help: "M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .7-1 1.7M8 12.5v.5",
  grid: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  table: "M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 3v10",
  map: "M2 2v12h12M5 11h.01M6 8h.01M8 9.5h.01M11 4h.01M12.5 6h.01M10 6.5h.01",
  single: "M2 2h12v12H2zM2 11l4-4 3 3 2-2 3 3",
  sidebar: "M2 3h12v10H2zM6 3v10",
  panel: "M2 3h12v10H2zM10 3v10",
  branch: "M4.5 5v6M4.5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 6c0 3-7 2-7 5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  save: "M3 2h10v12l-5-3.5L3 14z",
  menu: "M2 4h12M2 8h12M2 12h12",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

export interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  /** Of a button that opens the element `controls`. */
  expanded?: boolean;
  controls?: string;
  disabled?: boolean;
  testid?: string;
  class?: string;
  children?: ComponentChildren;
}

export function IconButton(p: IconButtonProps) {
  return (
    <button type="button" class={`icon-button ${p.class ?? ""}`} aria-label={p.label} title={p.label}
      aria-pressed={p.pressed} aria-expanded={p.expanded} aria-controls={p.controls} disabled={p.disabled} data-testid={p.testid} onClick={p.onClick}>
      <Icon name={p.icon} />{p.children}
    </button>
  );
}
