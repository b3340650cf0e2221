"use strict";
// Elements of a page, numbers as they are written, and values over words. Texts enter a page as text nodes, never as HTML.

const SVG = "http://www.w3.org/2000/svg";
const svgTags = new Set(["svg", "path", "line", "circle", "text", "g", "title"]);

/** An element with attributes (functions become listeners) and children, whose strings are texts. */
function make(tag, attributes = {}, ...children) {
  const element = svgTags.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const shown3 = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
const signed3 = (value) => (value === null || value === undefined ? "–" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3));
const shownScore = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))).replace("-", "−"));
const letter = (run) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[run] ?? String(run + 1);
const runClass = (run) => `run-${run % 6}`;
const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

// ---- texts and classes

/** The beginning of a long text. */
const beginning = (text, most) => (text.length > 1.2 * most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…` : text);

/** A text as it was written; of a long one its beginning, and a button for the whole. */
function written(text) {
  const short = beginning(text, 600);
  const words = make("div", { class: "text", dir: "auto", tabindex: short === text ? null : "-1" }, short || "(an empty text)");
  if (short !== text) words.append(" ", make("button", { type: "button", class: "quiet", click: () => { words.replaceChildren(text); words.focus(); } }, "whole text"));
  return words;
}

/** The probability of each class, and a note on each. */
function probabilities(classes, values, notes) {
  const predicted = values.indexOf(Math.max(...values));
  return make("table", { class: "classes" }, make("tbody", {}, classes.map((name, at) => make("tr", { class: at === predicted ? "predicted" : null },
    make("th", { scope: "row" }, name), make("td", { class: "number" }, shown3(values[at])), make("td", {}, at === predicted ? "predicted" : ""),
    notes ? make("td", { class: "moved number" }, notes[at]) : null))));
}

// ---- values over words

function heat({ title, rows, columns, values }) {
  const all = values.flat().filter((value) => value !== null);
  const low = Math.min(...all), high = Math.max(...all), signed = low < 0 && high > 0, far = Math.max(-low, high);
  const weight = (value) => (value === null ? 0 : signed ? Math.abs(value) / far : high > low ? (value - low) / (high - low) : 0.5);
  const shade = (element, value) => { element.classList.add(signed && value < 0 ? "cold" : "warm"); element.style.setProperty("--w", weight(value).toFixed(3)); return element; };
  const readout = make("p", { class: "readout", role: "status" });
  const [start, end] = signed ? [-far, far] : [low, high];
  const head = make("div", { class: "heat-head" }, make("strong", {}, title), make("span", { class: `scale${signed ? " signed" : ""}` }, shownScore(start), make("i", { "aria-hidden": "true" }), shownScore(end)));
  const width = columns.length, cells = [], lines = [], tops = [];
  let on = -1;
  const read = (place) => {
    if (on >= 0) { cells[on].classList.remove("on"); lines[Math.floor(on / width)]?.classList.remove("lit"); tops[on % width]?.classList.remove("lit"); }
    on = Math.max(0, Math.min(cells.length - 1, place));
    const [row, column] = [Math.floor(on / width), on % width];
    cells[on].classList.add("on"); lines[row]?.classList.add("lit"); tops[column]?.classList.add("lit");
    readout.textContent = `${rows.length ? `${rows[row]} × ` : ""}${columns[column]}: ${shownScore(values[row][column])}`;
  };
  const keys = (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ...(rows.length ? { ArrowUp: -width, ArrowDown: width } : {}) }[event.key];
    if (!move) return;
    event.preventDefault();
    const next = on < 0 ? 0 : on + move;
    if (next >= 0 && next < cells.length) read(next);
    cells[on].scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const point = (event) => { const place = cells.indexOf(event.target); if (place >= 0) read(place); };
  const box = make("div", { class: rows.length ? "grid" : "strip", tabindex: "0", role: "group", "aria-label": `${title}; the arrow keys read the values`, keydown: keys, pointerover: point, click: point, focus: () => { if (on < 0) read(0); } });
  if (!rows.length) {
    columns.forEach((word, column) => { cells.push(shade(make("span", {}, word || "·"), values[0][column])); box.append(cells[column], " "); });
  } else {
    const inner = make("div", { "aria-hidden": "true", style: `grid-template-columns: auto repeat(${width}, 1.05rem)` });
    rows.forEach((word, row) => {
      lines.push(make("span", { class: "row" }, word));
      inner.append(lines[row]);
      columns.forEach((_, column) => { const cell = shade(make("span", { class: "cell" }), values[row][column]); cells.push(cell); inner.append(cell); });
    });
    inner.append(make("span", { class: "corner" }));
    columns.forEach((word) => { tops.push(make("span", { class: "column" }, word)); inner.append(tops[tops.length - 1]); });
    box.append(inner);
  }
  return make("div", {}, head, box, readout);
}
