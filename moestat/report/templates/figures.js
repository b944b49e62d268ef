// Switches for the lines of each figure. Without it the page shows the same, with all lines.
for (const figure of document.querySelectorAll("figure")) {
  const parts = [...figure.querySelectorAll("svg [data-series]")];
  const names = new Map(parts.map((part) => [part.dataset.series, part.dataset.name]));
  if (names.size < 2) continue;
  const box = document.createElement("p");
  box.className = "switches";
  box.append("Show: ");
  for (const [series, name] of [...names].sort((a, b) => a[0] - b[0])) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    input.addEventListener("change", () => {
      for (const part of parts) if (part.dataset.series === series) part.style.display = input.checked ? "" : "none";
    });
    label.append(input, " " + name);
    box.append(label);
  }
  figure.querySelector("svg").after(box);
}
