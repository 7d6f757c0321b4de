// Saves a view once, although a request is sent again when its response is lost.

import type { Client } from "../../data/client";
import { ApiError } from "../../data/errors";
import type { View } from "../../data/protocol";
import { isUnreachable } from "./connection";

/** Returns the request that saves a view; it may be repeated after it failed. */
export function saving(client: Pick<Client, "save" | "versions">, name: string, replace: boolean):
(view: View) => Promise<void> {
  // An earlier request may have been executed.
  let lost = false;
  return async (view) => {
    try {
      await client.save(view.view, name, replace);
    } catch (error) {
      const exists = error instanceof ApiError && error.kind === "exists";
      if (lost && exists && await isSaved(client, name, view)) return;
      lost ||= isUnreachable(error);
      throw error;
    }
  };
}

/** Reports whether the view of a name is the one that the lost request should have saved. */
async function isSaved(client: Pick<Client, "versions">, name: string, view: View): Promise<boolean> {
  const { saved } = await client.versions();
  return saved.some((one) => one.name === name && one.query === (view.query ?? "") &&
    one.rows === view.rows && one.commit === view.commit);
}
