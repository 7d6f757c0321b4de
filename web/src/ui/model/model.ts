// The model of the page: its state, and one part for each subject that changes it.

import { openStore as openStoreOf } from "../../data/store";
import type { Browser } from "./address";
import { Looks } from "./looks";
import { Navigation } from "./navigation";
import { type Drawing, Page, type Service } from "./page";
import { Queries } from "./queries";
import { Rows } from "./rows";
import { Session } from "./session";
import { Views } from "./views";
import { Visits } from "./visits";

export class Model extends Page {
  readonly navigation: Navigation;
  readonly views: Views;
  readonly visits: Visits;
  readonly queries: Queries;
  readonly rows: Rows;
  readonly looks: Looks;
  readonly session: Session;

  constructor(client: Service, drawing: Drawing, browser: Browser = window, openStore = openStoreOf) {
    super(client, drawing);
    this.navigation = new Navigation(this, browser);
    this.views = new Views(this, openStore);
    this.visits = new Visits(this, this.navigation, this.views);
    this.queries = new Queries(this, this.views, this.visits);
    this.rows = new Rows(this, this.navigation, this.queries);
    this.looks = new Looks(this, this.navigation);
    this.session = new Session(this, this.navigation, this.visits);
  }
}
