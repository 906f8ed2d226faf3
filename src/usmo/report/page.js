"use strict";
// Opens what is folded before the page is printed, and folds it again afterwards.
(function () {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
  });
})();
// Makes the ranking sortable and filterable; without this script it is a plain table.
(function () {
  const table = document.getElementById("ranking");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const status = document.getElementById("filter-status");
  const filter = document.getElementById("filter");
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  let sorted = "";

  function showStatus() {
    const shown = rows.filter((row) => !row.hidden).length;
    const count = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    status.textContent = count + sorted;
  }

  function value(row, k) {
    const cell = row.cells[k];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  }

  function sort(k, down) {
    const sign = down ? -1 : 1;
    const compare = (a, b) => (typeof a === "number" ? a - b : order.compare(a, b));
    // rows that are equal keep their rank
    const next = rows.slice().sort((a, b) => sign * compare(value(a, k), value(b, k)) || value(a, 0) - value(b, 0));
    body.append(...next);
    heads.forEach((head, j) => {
      if (head.dataset.sort) head.setAttribute("aria-sort", j !== k ? "none" : down ? "descending" : "ascending");
    });
    sorted = `, by ${heads[k].textContent.toLowerCase()} ${down ? "downwards" : "upwards"}`;
    showStatus();
  }

  heads.forEach((head, k) => {
    const type = head.dataset.sort;
    if (!type) return;
    const button = document.createElement("button");
    button.type = "button";
    head.dataset.label = head.textContent; // print has no buttons
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(k, now === "none" ? type.includes("down") : now === "ascending");
    });
    head.replaceChildren(button);
    head.setAttribute("aria-sort", k === 0 ? "ascending" : "none");
  });

  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => texts.get(row).includes(word));
    showStatus();
  });
  filter.form.addEventListener("submit", (event) => event.preventDefault());
  filter.form.hidden = false;
})();
