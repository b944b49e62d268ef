"use strict";
(() => {
  const form = document.querySelector("form"), shown = form.querySelector("output");
  const rows = Array.from(document.getElementById("ledger").tBodies[0].rows);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  for (const row of rows) row.querySelector("details").open = false;
  form.hidden = false;

  function apply() {
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Array.from(form.querySelectorAll("select")).filter((s) => s.value).map((s) => [s.name, s.value]);
    for (const row of rows)
      row.hidden = !(wanted.every(([k, v]) => row.dataset[k] === v) && words.every((w) => texts.get(row).includes(w)));
    shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims`;
  }

  function follow() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!rows.includes(row)) return;
    if (row.hidden) { form.reset(); apply(); }
    row.querySelector("details").open = true;
    row.scrollIntoView();
  }

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", follow);
  apply();
  follow();
})();
