// The candidate: its texts, its values with where they lie among the known positives, and why it is proposed.

import { LABELS, byId, make, svg, user, when } from "./dom.js";
import { ask } from "./server.js";

const HOW = {
  likely: "Proposed as the likeliest row left",
  diverse: "Proposed as a likely row unlike the others",
  uncertain: "Proposed as a row that the ranking is unsure of",
  random: "A random row among likely ones",
  audit: "A random row of the audit",
  control: "A random row of the control sample",
};

const SHORTEST = 4; // letters of a word that is marked: "for" and "or" are everywhere

let shown = null;

export const current = () => shown;

function how(card) {
  if (card.decision && card.label) return `Decided: ${LABELS[card.label]}${card.decision.by ? `, by ${card.decision.by}` : ""}`;
  if (card.known) return `Known at the start to be ${card.known === 1 ? "positive" : "negative"}`;
  return HOW[card.how] || (card.decision ? "Skipped before" : "Chosen from the rows");
}

export function show(card, history = []) {
  shown = card;
  const body = byId("card");
  body.setAttribute("aria-busy", "false");
  byId("why").hidden = true;
  byId("actions").classList.toggle("idle", !card);
  for (const id of ["yes", "no", "later"]) byId(id).disabled = !card;
  if (!card) return showNone();
  byId("card-how").replaceChildren(make("span", { class: "mark" }, how(card)), ...(card.title ? [" row ", user(card.id)] : []));
  byId("card-h").replaceChildren(...(card.title ? [user(card.title)] : ["Row ", user(card.id)]));
  const texts = card.cells.filter((cell) => cell.kind === "text" && cell.name !== card.titled);
  byId("card-texts").replaceChildren(...texts.flatMap(textPart));
  const values = card.cells.filter((cell) => cell.kind !== "text");
  byId("card-values").replaceChildren(...values.map(valuePart));
  byId("card-values").hidden = !values.length;
  byId("card-left-out").hidden = !card.left_out;
  byId("card-left-out").textContent = `${card.left_out} more columns are not shown.`;
  byId("history").hidden = !history.length;
  byId("history-list").replaceChildren(...history.map(historyPart));
  window.scrollTo({ top: 0 });
  explain(card);
}

function showNone() {
  byId("card-how").textContent = "";
  byId("card-h").textContent = "No row is left to review";
  byId("card-texts").replaceChildren(
    make("p", {}, "All rows have a decision, or lie before somebody else just now. Skipped rows come last."),
  );
  byId("card-values").hidden = byId("history").hidden = byId("card-left-out").hidden = true;
}

function textPart(cell) {
  const paragraphs = cell.value.split(/\n\s*\n|\r\n\r\n/).filter((part) => part.trim());
  return [
    make("h3", {}, user(cell.name)),
    ...paragraphs.map((part) => make("p", { class: "prose", dir: "auto" }, part.trim())),
  ];
}

function valuePart(cell) {
  const value = make("dd", {}, cell.kind === "missing" ? make("span", { class: "far" }, "missing") : user(cell.value));
  const part = make("div", {}, make("dt", {}, user(cell.name)), value);
  if (cell.place) {
    if (cell.place.marks) value.append(strip(cell.place));
    value.append(make("small", {}, cell.place.words));
  }
  return part;
}

// Range, quartiles and median of the known positives, and this row as a dot. The words beside it say the same.
function strip({ marks, at }) {
  const plot = svg("svg", { class: "strip", width: "100%", height: "16", "aria-hidden": "true" });
  const percent = (value) => `${value}%`;
  plot.append(
    svg("line", { class: "base", x1: "0", x2: "100%", y1: "8", y2: "8" }),
    svg("line", { class: "range", x1: percent(marks[0]), x2: percent(marks[4]), y1: "8", y2: "8" }),
    svg("rect", { class: "box", x: percent(marks[1]), width: percent(Math.max(0.6, marks[3] - marks[1])), y: "4", height: "8" }),
    svg("line", { class: "median", x1: percent(marks[2]), x2: percent(marks[2]), y1: "3", y2: "13" }),
    svg("circle", { class: "here", cx: percent(at), cy: "8", r: "5" }),
  );
  return plot;
}

function historyPart(entry) {
  const what = entry.undo ? "taken back" : LABELS[entry.label];
  const line = make("li", {}, `${what}, ${when(entry.time)}`);
  if (entry.by) line.append(", ", user(entry.by));
  if (entry.note) line.append(": ", user(entry.note));
  return line;
}

async function explain(card) {
  let why;
  try {
    why = await ask(`/api/rows/${card.row}/why`);
  } catch {
    return; // the decision does not depend on it
  }
  if (shown !== card) return;
  const parts = [];
  const lists = {
    words: ["Words for it", "Words against it"],
    columns: ["Columns for it", "Columns against it"],
    close: ["Unusually close to the nearest known positive in", "Outside the range of the known positives in"],
    "": ["", "Outside the range of the known positives in"],
  }[why.kind];
  ["for", "against"].forEach((side, k) => {
    if (why[side].length) parts.push(make("p", { class: "terms" }, make("span", { class: "far" }, `${lists[k]}: `), ...terms(why[side], side)));
  });
  if (why.kind === "close" && why.for.length) parts.push(make("small", {}, "The percentage is the share of open rows that are as close."));
  if (why.kind === "words" || why.kind === "columns") parts.push(make("small", { class: "unit" }, "1 is the standard deviation of the scores of open rows."));
  if (why.nearest.length) {
    const items = why.nearest.map((one) =>
      make("li", {}, make("a", { href: `#row-${one.row}` }, user(one.title || one.id)), make("span", { class: "far" }, `${one.title ? ` ${one.id},` : ","} distance ${one.distance}`)));
    parts.push(make("p", { class: "far" }, "Nearest known positives:"), make("ul", {}, ...items));
  }
  byId("why-body").replaceChildren(...parts);
  byId("why").hidden = !parts.length;
  if (why.kind === "words") for (const side of ["for", "against"]) highlight(why[side].map(([word]) => word), side);
}

function terms(list, side) {
  return list.map(([word, amount]) =>
    make("span", { class: `term ${side}` }, user(word), amount ? make("span", { class: "amount" }, ` ${amount}`) : ""));
}

// Marks the words in the texts of the card.
function highlight(words, side) {
  const escaped = words.filter((word) => word.length >= SHORTEST).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ /g, "\\W+"));
  if (!escaped.length) return;
  escaped.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  const places = [byId("card-h"), ...document.querySelectorAll("#card-texts .prose")];
  for (const place of places) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) if (walker.currentNode.parentElement.nodeName !== "MARK") nodes.push(walker.currentNode);
    for (const node of nodes) markIn(node, pattern, side);
  }
}

function markIn(node, pattern, side) {
  const text = node.data;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(end, match.index), make("mark", { class: side }, match[0]));
    end = match.index + match[0].length;
  }
  if (parts.length) node.replaceWith(...parts, text.slice(end));
}
