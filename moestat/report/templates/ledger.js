"use strict";
(() => {
  const table = document.getElementById("ledger");
  const body = table.tBodies[0];
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const rows = Array.from(body.rows);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  for (const row of rows) row.querySelector("details").open = false;
  form.hidden = false;

  function apply() {
    const chosen = new FormData(form);
    const words = chosen.get("search").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Array.from(form.querySelectorAll("select")).filter((s) => s.value).map((s) => [s.name, s.value]);
    let count = 0;
    for (const row of rows) {
      const text = texts.get(row);
      row.hidden = !(wanted.every(([key, value]) => row.dataset[key] === value) && words.every((w) => text.includes(w)));
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = `${count} of ${rows.length} claims`;
  }

  function follow() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || row.parentNode !== body) return;
    if (row.hidden) { form.reset(); apply(); }
    row.querySelector("details").open = true;
    row.scrollIntoView();
  }

  const columns = Array.from(table.tHead.rows[0].cells);
  function key(row, column) {
    if (columns[column].dataset.key === "number") return row.dataset.number === "" ? null : Number(row.dataset.number);
    const value = row.dataset[columns[column].dataset.key];
    return value === undefined ? row.cells[column].textContent.trim() : value;
  }
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  columns.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      columns.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const keyed = rows.map((row, place) => [key(row, column), place, row]);
      keyed.sort(([a, i], [b, j]) => {
        if (a === null || b === null) return a === b ? i - j : a === null ? 1 : -1;  // claims without a number stay last
        return sign * (typeof a === "number" ? a - b : compare(a, b)) || i - j;
      });
      body.append(...keyed.map(([, , row]) => row));
    });
  });

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", follow);
  apply();
  follow();
})();
