// Holds the common ground of the parts of the model: the state, the server, and the drawing.

import type { Client } from "../../data/client";
import type { Grid, Hit, OpenFilm, OpenGrid, OpenSingle } from "../../draw/api";
import { Connection } from "./connection";
import { initialState, Store, type Dialog, type State } from "./state";
import { endedSession } from "./stops";

export type Service = Pick<Client, "entered" | "enter" | "open" | "query" | "explain" | "close" |
  "stats" | "progress" | "project" | "values" | "select" | "video" | "times" | "videoFault" | "versions" | "diff" | "words" | "samples" | "save">;

export interface Drawing {
  openGrid: OpenGrid;
  openSingle: OpenSingle;
  openFilm: OpenFilm;
}

export class Page {
  readonly state = new Store<State>(initialState());
  readonly connection: Connection;
  /** The grid of the page, once it is drawn. */
  grid: Grid | null = null;

  constructor(readonly client: Service, readonly drawing: Drawing) {
    this.connection = new Connection({
      offline: (retryAt, reason) => this.set({ offline: retryAt === null ? null : { retryAt, reason } }),
      refused: () => this.set({ stop: endedSession }),
    });
  }

  get(): State {
    return this.state.get();
  }

  set(patch: Partial<State>): void {
    this.state.set(patch);
  }

  /** Shows a text in the status line; screen readers read it out. */
  say(notice: string): void {
    this.set({ notice });
  }

  hover(hit: Hit | null): void {
    this.set({ hover: hit });
  }

  /** Opens a dialog; "" closes the open one. */
  open(dialog: Dialog): void {
    this.set({ dialog });
  }
}
