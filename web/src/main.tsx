// Starts the page.

import { render } from "preact";
import { openClient } from "./data/open";
import { openFilm } from "./draw/canvas/film";
import { openGrid } from "./draw/canvas/grid";
import { openSingle } from "./draw/canvas/single";
import { App } from "./ui/app";
import { ModelContext } from "./ui/hooks/app";
import { sessionOf } from "./ui/model/history";
import { Model } from "./ui/model/model";
import { firstPanels, keepPanels } from "./ui/panels";
import "./style.css";

const model = new Model(openClient(), { openGrid, openSingle, openFilm });
model.set(firstPanels(sessionOf(), window.innerWidth));
keepPanels(model.state, sessionOf());
const root = document.getElementById("app");
if (root) {
  render(<ModelContext.Provider value={model}><App /></ModelContext.Provider>, root);
}
window.addEventListener("popstate", () => model.session.followAddress());
window.addEventListener("hashchange", () => model.session.followAddress());
void model.session.start();
