// How far one has come, whether all is saved, and what went wrong.

import { reason } from "./api.js";
import { byId, counted, make } from "./dom.js";

export function showTally(now) {
  const { labelled, total } = now.triggers;
  const bar = byId("progress-bar");
  bar.setAttribute("aria-valuemax", total);
  bar.setAttribute("aria-valuenow", labelled);
  bar.firstElementChild.style.width = `${total ? (labelled / total) * 100 : 0}%`;
  const strong = (text) => make("b", { text: text.toLocaleString("en") });
  byId("progress-text").replaceChildren(
    strong(labelled), " labelled, ", strong(total - labelled), " to go · ", strong(now.clusters.labelled),
    ` of ${counted(now.clusters.total, "cluster")} begun`, now.skipped ? ` · ${now.skipped.toLocaleString("en")} skipped` : "",
  );
  byId("undo").disabled = !now.can_undo;
}

export function showSaved(waiting) {
  byId("saved").textContent = waiting ? `saving ${waiting} …` : "all saved";
  byId("saved").classList.toggle("busy", waiting > 0);
}

export function showFault(error, willRetry) {
  byId("fault-text").textContent = reason(error);
  byId("fault-retry").hidden = !willRetry;
  byId("fault").hidden = false;
}

// A fault that was tried again is over.
export function hideRetry() {
  if (!byId("fault-retry").hidden) byId("fault").hidden = true;
}
