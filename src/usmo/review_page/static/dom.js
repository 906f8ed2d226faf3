// Building the page from values. Text is always text: nothing here parses HTML.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function svg(tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

// A text of the table, kept from changing the direction of the text around it.
export const user = (text) => make("bdi", {}, text);

export const LABELS = { 1: "yes", 0: "skipped", "-1": "no" };

export function when(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

export function count(n, one) {
  return `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
}
