// Criteria, export, more known rows, addresses for others.

import { byId, count } from "./dom.js";
import { Failure, ask, change } from "./server.js";

export function prepare(afterChange) {
  prepareCriteria();
  prepareExport();
  prepareKnown(afterChange);
  byId("share").addEventListener("click", async () => {
    try {
      byId("share-status").textContent = (await change("/api/share", {})).address;
    } catch (error) {
      byId("share-status").textContent = error.message;
    }
  });
}

async function prepareCriteria() {
  const field = byId("criteria");
  const status = byId("criteria-status");
  let before = "";
  const take = (text) => {
    before = field.value = text;
  };
  byId("criteria-save").addEventListener("click", async () => {
    try {
      before = (await change("/api/criteria", { text: field.value, before })).text;
      status.textContent = "Saved.";
    } catch (error) {
      status.textContent = error.message;
      if (error instanceof Failure && error.status === 409) {
        status.textContent += `. The others' text: ${error.answer.text}`;
        before = error.answer.text;
      }
    }
  });
  byId("criteria-panel").addEventListener("toggle", async () => {
    const now = (await ask("/api/criteria")).text;
    if (field.value === before) take(now);
  });
  take((await ask("/api/criteria")).text);
  if (before) byId("criteria-panel").open = true;
}

function prepareExport() {
  const update = () => {
    const table = byId("export-table");
    for (const format of ["csv", "parquet"]) {
      const query = new URLSearchParams({ which: byId("export-which").value, q: byId("export-q").value, format });
      if (table && table.checked) query.set("table", "1");
      byId(`export-${format}`).href = `/export?${query}`;
    }
  };
  byId("export").addEventListener("input", update);
  byId("export").addEventListener("submit", (event) => event.preventDefault());
  update();
}

function prepareKnown(afterChange) {
  const status = byId("known-status");
  const add = byId("known-add");
  const values = () => ({ text: byId("known-ids").value, label: Number(byId("known-label").value) });
  const say = (answer, done) => {
    const parts = [`${count(answer.added, "row")} ${done ? "added" : "would be added"}`];
    if (answer.labelled) parts.push(`${count(answer.labelled, "row")} had this label before`);
    if (answer.contrary.length) parts.push(`left alone, because they have the other label: ${answer.contrary.join(", ")}`);
    if (answer.several.length) parts.push(`left out, because they name several rows: ${answer.several.join(", ")}`);
    if (answer.n_unknown) parts.push(`${count(answer.n_unknown, "id")} not in the table: ${answer.unknown.join(", ")}`);
    status.textContent = `${parts.join("; ")}.`;
  };
  byId("known-file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    if (file.size > 3_500_000) status.textContent = "The file is larger than 3.5 MB: split it.";
    else byId("known-ids").value = await file.text();
  });
  byId("known").addEventListener("input", () => (add.hidden = true));
  byId("known").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const answer = await change("/api/known", { ...values(), check: true });
      say(answer, false);
      add.hidden = !answer.added;
      add.textContent = `Add ${count(answer.added, "row")}`;
    } catch (error) {
      status.textContent = error.message;
    }
  });
  add.addEventListener("click", async () => {
    add.hidden = true;
    try {
      const answer = await change("/api/known", values());
      say(answer, true);
      afterChange(answer);
    } catch (error) {
      status.textContent = error.message;
    }
  });
}
