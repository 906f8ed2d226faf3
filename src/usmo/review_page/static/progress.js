// How far the review is.

import { byId, count, make, svg } from "./dom.js";
import { ask } from "./server.js";

const NAMES = [["rows", "rows in the table"], ["known_positives", "positives known beforehand or imported"],
  ["known_negatives", "negatives known beforehand or imported"], ["decided", "rows reviewed"], ["found", "positives found"], ["skipped", "rows skipped"], ["open", "rows without a label"]];

let changes = 0;

// The state after a change. An answer to a question from before the change is not shown any more.
export function showState(state) {
  changes += 1;
  paint(state);
}

function paint(state) {
  byId("n-decided").textContent = state.counts.decided.toLocaleString("en");
  byId("n-found").textContent = state.counts.found.toLocaleString("en");
  const undo = byId("undo");
  undo.disabled = !state.undo;
  undo.dataset.of = state.undo ? state.undo.of : "";
  const what = state.undo ? (state.undo.rows > 1 ? count(state.undo.rows, "decision") : `the decision on ${state.undo.id}`) : "";
  undo.title = state.undo ? `Take back ${what}` : "Nothing to take back";
  byId("trouble").hidden = !state.trouble;
  byId("trouble").textContent = state.trouble ? `${state.trouble[0].toUpperCase()}${state.trouble.slice(1)}.` : "";
  const shown = NAMES.filter(([key]) => key !== "known_negatives" || state.counts[key]);
  byId("all-counts").replaceChildren(...shown.map(([key, name]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, state.counts[key].toLocaleString("en")))));
}

export async function refresh() {
  const before = changes;
  const state = await ask("/api/progress");
  if (before !== changes) return state;
  paint(state);
  byId("n-left").textContent = state.estimate === null ? "–" : Math.round(state.estimate).toLocaleString("en");
  byId("short-verdict").textContent = `${state.stop ? "You may stop. " : ""}${state.reasons[0]}`;
  byId("short-verdict").classList.toggle("good", state.stop);
  byId("verdict").textContent = `${state.stop ? "The review may end." : "The review is not finished."} ${state.reasons[0]}`;
  byId("reasons").replaceChildren(...state.reasons.slice(1).map((reason) => make("p", {}, reason)));
  byId("left").textContent = state.left;
  byId("audit").textContent = state.audit;
  draw(state.plot);
  return state;
}

function draw(plot) {
  const image = svg("svg", { class: "plot", role: "img", "aria-labelledby": "plot-t plot-d", width: "100%", height: plot.height });
  image.append(svg("title", { id: "plot-t" }, plot.title), svg("desc", { id: "plot-d" }, plot.description));
  for (const [tag, attributes, text] of plot.shapes) image.append(svg(tag, attributes, text));
  byId("plot").replaceChildren(image);
}
