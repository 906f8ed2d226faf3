// Talking to the server. A change keeps its request id until the server has confirmed it, however often it is sent:
// the server records it once. It is kept in the tab's storage too, so that a reload does not lose it.

import { byId } from "./dom.js";

const PENDING = "usmo-pending";
const WAIT = [500, 1000, 2000, 4000];

export class Failure extends Error {
  constructor(status, answer) {
    super(answer.error || `the server answers ${status}`);
    this.status = status;
    this.answer = answer;
  }
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function tabName() {
  let name = sessionStorage.getItem("usmo-tab");
  if (!name) sessionStorage.setItem("usmo-tab", (name = newId()));
  return name;
}

export const tab = tabName();
export const person = () => byId("by").value.trim();

async function send(path, options = {}) {
  const response = await fetch(path, { cache: "no-store", ...options });
  let answer = {};
  try {
    answer = await response.json();
  } catch {
    // an answer without JSON is an error below, or empty
  }
  if (!response.ok) throw new Failure(response.status, answer);
  return answer;
}

export function ask(path, values = {}) {
  const query = new URLSearchParams({ by: person(), tab, ...values });
  return send(`${path}?${query}`);
}

const post = (path, values) =>
  send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values) });

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Sends a change until there is an answer. ``waiting`` is called when there is none yet.
export async function change(path, values, waiting = () => {}) {
  const body = { by: person(), tab, request: newId(), ...values };
  sessionStorage.setItem(PENDING, JSON.stringify([path, body]));
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await post(path, body);
      sessionStorage.removeItem(PENDING);
      return answer;
    } catch (error) {
      if (error instanceof Failure && error.status !== 503) {
        if (error.status !== 401) sessionStorage.removeItem(PENDING);
        throw error;
      }
      waiting(error);
      await pause(WAIT[Math.min(attempt, WAIT.length - 1)]);
    }
  }
}

// The change that a reload interrupted, if there is one.
export function pending() {
  try {
    return JSON.parse(sessionStorage.getItem(PENDING));
  } catch {
    return null;
  }
}
