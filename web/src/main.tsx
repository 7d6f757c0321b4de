// Starts the page.

import { render } from "preact";
import { Client } from "./data/client";
import { openGrid, openSingle } from "./draw";
import { App } from "./ui/app";
import { ModelContext } from "./ui/hooks";
import { Model } from "./ui/model";
import "./style.css";

const model = new Model(new Client(), { openGrid, openSingle });
const root = document.getElementById("app");
if (root) {
  render(<ModelContext.Provider value={model}><App /></ModelContext.Provider>, root);
}
window.addEventListener("popstate", () => model.followAddress());
window.addEventListener("hashchange", () => model.followAddress());
void model.start();
