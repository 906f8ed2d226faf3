// The page: views, keys, and the loop of decisions.

import { current, show } from "./card.js";
import { LABELS, byId, count, user } from "./dom.js";
import * as more from "./more.js";
import { refresh, showState } from "./progress.js";
import * as rows from "./rows.js";
import { Failure, ask, change, pending } from "./server.js";

const VIEWS = ["review", "rows", "progress", "more"];
const POLL = 5000;

let busy = false;
let waiting = null; // the candidate that waits while another row is looked at

function banner(text = "", kind = "") {
  const place = byId("banner");
  place.hidden = !text;
  place.className = `banner ${kind}`;
  place.textContent = text;
}

const announce = (text) => (byId("live").textContent = text);

function present(answer, { focus = true } = {}) {
  showState(answer);
  waiting = null;
  byId("go-on").hidden = true;
  show(answer.candidate, answer.history);
  byId("note").value = "";
  if (location.hash.startsWith("#row-")) history.replaceState(null, "", "#review");
  openView("review", { focus });
}

function explainFailure(error) {
  if (error instanceof Failure && error.status === 401) banner(error.message, "bad");
  else banner(`It did not work: ${error.message}`, "bad");
}

async function work(action) {
  if (busy) return;
  busy = true;
  byId("actions").setAttribute("aria-busy", "true");
  try {
    await action();
  } catch (error) {
    explainFailure(error);
  } finally {
    busy = false;
    byId("actions").removeAttribute("aria-busy");
  }
  refresh().catch(() => {});
}

const notYet = () => banner("Not saved yet: the server does not answer. Trying again.", "bad");

function decide(label) {
  const card = current();
  if (!card || byId("view-review").hidden) return;
  return work(() => save("/api/decisions", { row: card.row, label, note: byId("note").value, after: card.after }, card));
}

async function save(path, values, card) {
  try {
    const answer = await change(path, values, notYet);
    banner();
    const what = `Saved: ${LABELS[values.label]}`;
    byId("saved").replaceChildren(`${what} for `, user(card ? card.id : `row ${values.row + 1}`), ".");
    present(answer);
    announce(`${what}. ${spoken(answer.candidate)}`);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 409 || !error.answer.counts) throw error;
    const { decided, card: row } = error.answer;
    const who = decided && decided.by ? decided.by : "somebody else";
    const what = decided ? `has just been decided by ${who}: ${LABELS[decided.label]}` : "has just been reopened";
    present(error.answer);
    banner(`Row ${row.id} ${what}. Your answer is not recorded; Rows lets you change it.`, "bad");
  }
}

const spoken = (card) => (card ? `Next candidate: ${card.title || card.id}` : "No row is left to review");

function undo() {
  const of = byId("undo").dataset.of;
  if (!of) return;
  return work(async () => {
    const answer = await change("/api/undo", { of }, notYet);
    banner();
    const what = answer.undone > 1 ? `${count(answer.undone, "decision")} taken back` : "Decision taken back";
    byId("saved").textContent = `${what}.`;
    present(answer);
    byId("go-on").hidden = false;
    announce(`${what}. ${answer.candidate.title || answer.candidate.id}`);
  });
}

async function openRow(row) {
  await work(async () => {
    const now = current();
    const answer = await ask(`/api/rows/${row}`);
    if (now && !now.visited) waiting = waiting || now;
    answer.candidate.visited = true;
    show(answer.candidate, answer.history);
    byId("note").value = answer.candidate.decision ? answer.candidate.decision.note : "";
    byId("go-on").hidden = false;
    openView("review");
  });
}

const next = () =>
  work(async () => {
    banner();
    present(await ask("/api/next"));
    announce(spoken(current()));
  });

function openView(name, { focus = true } = {}) {
  if (byId(`view-${name}`).hidden) window.scrollTo({ top: 0 });
  for (const view of VIEWS) byId(`view-${view}`).hidden = view !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "rows") rows.list();
  if (name === "progress") refresh().catch(explainFailure);
  if (focus) byId(name === "review" ? "card-h" : `${name}-h`).focus({ preventScroll: true });
}

function follow() {
  const name = location.hash.slice(1);
  const row = /^row-(\d{1,12})$/.exec(name);
  if (row) openRow(Number(row[1]));
  else if (name === "review" && waiting) next();
  else openView(VIEWS.includes(name) ? name : "review");
}

const KEYS = { y: () => decide(1), n: () => decide(-1), s: () => decide(0), u: undo };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  const inField = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && inField) return inField.blur();
  if (inField || !byId("keys").checked) return;
  if (event.key === "/") {
    event.preventDefault();
    history.pushState(null, "", "#rows"); // no hashchange: that would move the focus
    openView("rows", { focus: false });
    byId("q").focus();
  } else if (event.key === "m" && !byId("view-review").hidden) {
    event.preventDefault();
    byId("note").focus();
  } else if (KEYS[event.key.toLowerCase()] && !byId("view-review").hidden) {
    event.preventDefault();
    KEYS[event.key.toLowerCase()]();
  }
}

function remember(id, property) {
  const field = byId(id);
  const kept = localStorage.getItem(`usmo-${id}`);
  if (kept !== null) field[property] = property === "checked" ? kept === "true" : kept;
  field.addEventListener("change", () => localStorage.setItem(`usmo-${id}`, field[property]));
}

async function poll() {
  if (!document.hidden && !busy) {
    try {
      await refresh();
      if (byId("banner").classList.contains("gone")) banner();
    } catch (error) {
      if (error instanceof Failure && error.status === 401) explainFailure(error);
      else if (!busy) banner("The server does not answer. Decisions made so far are on disk.", "bad gone");
    }
  }
  setTimeout(poll, POLL);
}

async function start() {
  remember("by", "value");
  remember("keys", "checked");
  rows.prepare();
  more.prepare((answer) => showState(answer));
  byId("yes").addEventListener("click", () => decide(1));
  byId("no").addEventListener("click", () => decide(-1));
  byId("later").addEventListener("click", () => decide(0));
  byId("undo").addEventListener("click", undo);
  byId("go-on").addEventListener("click", next);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", follow);
  const interrupted = pending();
  await work(async () => {
    if (interrupted && interrupted[0] === "/api/decisions") await save(...interrupted, null);
    else present(await ask("/api/next"), { focus: false });
  });
  if (location.hash && location.hash !== "#review") follow();
  setTimeout(poll, POLL);
}

start();
