// Elements and texts. Nothing of a report is ever read as HTML.

// Attributes that are null are left out, children that are null, too.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

const isNumber = (value) => typeof value === "number";

// "1.73", and "–" for what is missing.
const fixed = (value, digits) => isNumber(value) ? value.toFixed(digits) : "–";

// Without needless digits: "0.25", "1730".
const short = (value, digits = 4) => String(Number(value.toPrecision(digits)));

const withCommas = (value) => Math.round(value).toLocaleString("en-US");

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// Wider than the page, it is scrolled, with the keyboard, too.
function scrolled(table, classes = "scroll") {
  return element(
    "div", {class: classes, tabindex: 0, role: "region", "aria-label": table.getAttribute("aria-label")}, table);
}

// Cells are texts or elements; the first of a row is its head.
function makeTable(label, head, rows, classes = "figures") {
  const cells =
    ([first, ...others]) => [element("th", {scope: "row"}, first), ...others.map((cell) => element("td", {}, cell))];
  return element("table", {class: classes, "aria-label": label},
    element("thead", {}, element("tr", {}, head.map((title) => element("th", {scope: "col"}, title)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, cells(row)))));
}

function folded(title, ...children) {
  return element("details", {}, element("summary", {}, title), children);
}

function tile(name, value, note = "") {
  return element(
    "div", {class: "tile"}, element("span", {}, name), element("strong", {}, value), element("span", {}, note));
}

function readData() {
  return JSON.parse(document.getElementById("data").textContent);
}

// Parts that are null are left out.
function fillPage(parts) {
  document.querySelector("main").replaceChildren(...parts.filter((part) => part !== null));
}
