// Chooses where the page reads: from the server that it came from, or, in an exported page, from a
// dataset on the web by a worker.

import { Client, type Fetch, memoryTokens } from "./client";

/** An exported page names the file with its dataset in this meta element. */
const mark = 'meta[name="deeplake-dataset"]';

export function openClient(): Client {
  const named = document.querySelector<HTMLMetaElement>(mark)?.content;
  if (!named) return new Client();
  const address = new URL(named, document.baseURI).href;
  // The worker's half of the page is loaded in exported pages alone.
  let reader: Promise<Fetch> | null = null;
  return new Client("", {
    tokens: memoryTokens("none"),
    fetch: async (input, init) => {
      reader ??= import("./reader").then((module) => module.readerFetch(address));
      return (await reader)(input, init);
    },
  });
}
