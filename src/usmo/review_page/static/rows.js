// The list of rows: search, filter, and the way back to a decision.

import { LABELS, byId, make, user, when } from "./dom.js";
import { ask } from "./server.js";

let offset = 0;
let asked = 0;

export async function list({ more = false } = {}) {
  const number = ++asked;
  offset = more ? offset : 0;
  const status = byId("rows-status");
  let answer;
  try {
    answer = await ask("/api/rows", { q: byId("q").value, which: byId("which").value, offset });
  } catch (error) {
    status.textContent = error.message;
    return;
  }
  if (number !== asked) return; // a later search has been started
  const body = byId("list").tBodies[0];
  const lines = answer.rows.map(line);
  if (more) body.append(...lines);
  else body.replaceChildren(...lines);
  offset = answer.offset + answer.rows.length;
  byId("rows-more").hidden = offset >= answer.total;
  const total = answer.total.toLocaleString("en");
  status.textContent = offset < answer.total ? `${offset} of ${total} rows` : `${total} ${answer.total === 1 ? "row" : "rows"}`;
}

function line(row) {
  const label = row.label || row.decision ? LABELS[row.label] : "open";
  const known = row.label && !row.decision ? " (known)" : "";
  const decision = make("td");
  if (row.decision) {
    decision.append(when(row.decision.time));
    if (row.decision.by) decision.append(", ", user(row.decision.by));
    if (row.decision.note) decision.append(make("small", {}, user(row.decision.note)));
  }
  return make(
    "tr", {},
    make("th", { scope: "row" }, make("a", { href: `#row-${row.row}` }, user(row.title || row.id)), make("small", {}, user(row.title ? row.id : row.about))),
    make("td", {}, make("span", { class: `label l${row.label}` }, label), known),
    decision,
  );
}

export function prepare() {
  let timer = 0;
  byId("q").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(list, 200);
  });
  byId("which").addEventListener("change", () => list());
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    list();
  });
  byId("rows-more").addEventListener("click", () => list({ more: true }));
}
