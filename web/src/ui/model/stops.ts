// The reasons for which the page shows no dataset.

import { messageOf } from "../../data/errors";
import type { Stop } from "./state";

export const usedLink: Stop = {
  title: "This link was used before",
  message: "Run ds.visualize() or press Enter in the terminal where deeplake visualize runs for a new one.",
  retry: false,
};
export const endedSession: Stop = { ...usedLink, title: "The session of this page has ended" };
export const noLink: Stop = { ...usedLink, title: "This page needs a link with a key" };

/** `named`: the address names the version that cannot be opened. */
export function notOpened(error: unknown, named = false): Stop {
  const title = named ? "This version cannot be opened" : "The dataset cannot be opened";
  return { title, message: messageOf(error), retry: true, named };
}
