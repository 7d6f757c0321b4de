// The drawing, as the panels use it.

export { colorOf } from "./colors";
export { openGrid } from "./canvas/grid";
export { openSingle } from "./canvas/single";
export type * from "./api";
