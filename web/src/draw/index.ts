// The drawing, as the panels use it.

export { colorOf } from "./colors";
export { openGrid } from "./grid";
export { openSingle } from "./single";
export type * from "./api";
