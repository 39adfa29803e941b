"use strict";
// A click sorts a table: numbers from the largest, words from A; the second click reverses, the third restores the order.
for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0], rows = [...body.rows];
    rows.forEach((row, place) => (row.dataset.place ??= place));
    const isNumber = head.classList.contains("number");
    const orders = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
    const next = { null: orders[0], [orders[0]]: orders[1], [orders[1]]: null }[head.getAttribute("aria-sort")];
    const value = (row) => {
      const cell = row.cells[head.cellIndex];
      return isNumber ? Number(cell.dataset.value ?? NaN) : cell.textContent;
    };
    const sign = next === "descending" ? -1 : 1;
    rows.sort((a, b) => {
      if (next === null) return a.dataset.place - b.dataset.place;
      const [x, y] = [value(a), value(b)];
      if (isNumber) return Number.isNaN(x) - Number.isNaN(y) || sign * (x - y) || 0;
      return sign * x.localeCompare(y);
    });
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    if (next) head.setAttribute("aria-sort", next);
    body.append(...rows);
  });
}
for (const [id, spec] of Object.entries(JSON.parse(document.getElementById("charts").textContent))) {
  vegaEmbed(document.getElementById(id), spec, { ast: true, actions: { export: true, source: false, compiled: false, editor: false } });
}
