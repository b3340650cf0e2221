// Draws the page from its parts: JSON, packed by gzip and base64. Comes after words.js in the page.

const waiting = new Map();
const parts = new Map();

/** A part's values. It lies in the page, or in a script of the folder beside it. */
function part(name) {
  if (!parts.has(name)) {
    const inside = document.getElementById(`part-${name}`);
    const packed = inside ? Promise.resolve(inside.textContent) : new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `${encodeURIComponent(document.body.dataset.folder)}/${name}.js`;
      script.onerror = () => reject(new Error(`${script.getAttribute("src")} is missing: keep the folder beside the page`));
      document.head.append(script);
    });
    parts.set(name, packed.then(unpacked));
  }
  return parts.get(name);
}

function qaexpPart(name, packed) { waiting.get(name)(packed); }

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The value at a place among those that were divided into parts. */
async function divided(name, starts, place) {
  let number = starts.length - 1;
  while (starts[number] > place) number--;
  return (await part(`${name}-${number}`))[place - starts[number]];
}

let D, several, unit;

const runName = (run) => make("span", { class: runClass(run) }, make("span", { class: "key", "aria-hidden": "true" }), several ? `${letter(run)}  ` : "", D.runs[run].name);

async function begin() {
  const page = document.getElementById("page");
  try {
    D = await part("index");
  } catch (error) {
    page.replaceChildren(make("h1", {}, "This report cannot be opened"), make("p", { role: "alert" }, String(error.message ?? error)));
    return;
  }
  several = D.runs.length > 1;
  unit = D.classes.length ? "pair" : "question";
  page.replaceChildren(heading(), scores(), training(), ...(several ? [comparison()] : []), questions());
  document.body.dataset.ready = "yes";
}

function heading() {
  const title = several ? `${D.runs.length} runs on ${D.dataset}` : D.runs[0].name;
  const facts = (run) => make("dl", { class: "facts" }, run.facts.map(([name, value]) => [
    make("dt", {}, name), make("dd", {}, name === "command" || name === "code" ? make("code", {}, value) : value)]));
  return make("header", {},
    make("h1", {}, title),
    make("p", { class: "soft" }, `${D.dataset}, ${D.split}: ${count(D.questions.id.length, unit)}` + (D.convention ? `, measured by the convention ${D.convention}` : "")),
    several
      ? make("div", {}, D.runs.map((run, number) => make("details", {}, make("summary", {}, runName(number)), facts(run))))
      : facts(D.runs[0]));
}

function section(title, ...content) {
  return make("section", { "aria-label": title }, make("h2", {}, title), ...content);
}

function scroll(label, table) {
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, table);
}

function scores() {
  const rows = D.runs.flatMap((run, number) => run.scores.map((split) => ({ run, number, ...split })));
  rows.sort((a, b) => (b.split === D.split) - (a.split === D.split) || a.split.localeCompare(b.split) || a.number - b.number);
  const cell = ([mean, half]) => make("td", { class: "number" }, shown3(mean), make("small", {}, half === null ? "" : `± ${half.toFixed(3)}`));
  const table = make("table", {},
    make("thead", {}, make("tr", {},
      make("th", { scope: "col" }, "split"), several ? make("th", { scope: "col" }, "run") : null,
      D.measures.map((name) => make("th", { scope: "col", class: "number" }, name)),
      make("th", { scope: "col", class: "number" }, `${unit}s`))),
    make("tbody", {}, rows.map((row) => make("tr", {},
      make("th", { scope: "row" }, row.split), several ? make("td", {}, runName(row.number)) : null,
      row.values.map(cell), make("td", { class: "number" }, row.questions.toLocaleString("en"))))));
  const tied = rows.filter((row) => row.tied > 0).map((row) => `${row.split}${several ? ` of ${letter(row.number)}` : ""} ${(100 * row.tied).toFixed(1)}%`);
  return section("Scores", scroll("Scores", table),
    make("p", { class: "soft small" }, `± is half of the 95% interval of the mean over ${unit}s (Student’s t).` +
      (tied.length ? ` Questions whose first right answer ties with a wrong one: ${tied.join(", ")}.` : "")));
}

// ---- curves

function ticks(low, high) {
  const step = [1, 2, 5, 10].map((base) => base * 10 ** Math.floor(Math.log10((high - low) / 4))).find((each) => (high - low) / each <= 5) ?? (high - low) / 4;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-6; at += step) found.push(Number(at.toPrecision(6)));
  return found;
}

function chart(title, series) {
  const width = 460, height = 220, left = 46, right = 12, top = 10, bottom = 28;
  const all = series.flatMap((each) => each.values).filter((value) => value !== null);
  const epochs = [...new Set(series.flatMap((each) => each.epochs))].sort((a, b) => a - b);
  if (!all.length) return make("span");
  let [low, high] = [Math.min(...all), Math.max(...all)];
  if (high - low < 1e-9) [low, high] = [low - 0.05, high + 0.05];
  const space = (high - low) * 0.06;
  [low, high] = [low - space, high + space];
  const [first, last] = [epochs[0], epochs[epochs.length - 1]];
  const x = (epoch) => (last === first ? (left + width - right) / 2 : left + ((epoch - first) / (last - first)) * (width - left - right));
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const every = Math.ceil(epochs.length / 10);
  const guide = make("line", { class: "guide", y1: top, y2: height - bottom, visibility: "hidden" });
  const drawn = make("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "img", "aria-label": `${title} by epoch; the arrow keys read the values` },
    ticks(low, high).map((at) => make("g", {}, make("line", { class: "axis", x1: left, x2: width - right, y1: y(at), y2: y(at) }),
      make("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, String(at)))),
    epochs.filter((_, place) => place % every === 0).map((epoch) => make("text", { x: x(epoch), y: height - 8, "text-anchor": "middle" }, String(epoch))),
    guide,
    series.map((each) => {
      const points = each.epochs.map((epoch, place) => [epoch, each.values[place]]).filter(([, value]) => value !== null);
      return make("g", { class: runClass(each.run) },
        make("path", { class: "line", d: points.map(([epoch, value], place) => `${place ? "L" : "M"}${x(epoch).toFixed(1)} ${y(value).toFixed(1)}`).join("") }),
        points.map(([epoch, value]) => make("circle", { class: epoch === each.best ? "best" : "dot", r: epoch === each.best ? 5 : 2.5, cx: x(epoch), cy: y(value) })));
    }));
  const readout = make("p", { class: "readout", role: "status" });
  let at = -1;
  const read = (place) => {
    at = Math.max(0, Math.min(epochs.length - 1, place));
    const epoch = epochs[at];
    for (const end of ["x1", "x2"]) guide.setAttribute(end, x(epoch));
    guide.setAttribute("visibility", "visible");
    const values = series.map((each) => `${several ? `${letter(each.run)} ` : ""}${shownScore(each.values[each.epochs.indexOf(epoch)] ?? null)}${epoch === each.best ? " (best epoch)" : ""}`);
    readout.textContent = `epoch ${epoch}: ${values.join(", ")}`;
  };
  drawn.addEventListener("pointermove", (event) => {
    const box = drawn.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    read(epochs.reduce((near, epoch, index) => (Math.abs(x(epoch) - place) < Math.abs(x(epochs[near]) - place) ? index : near), 0));
  });
  drawn.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move) { read(at < 0 ? (move > 0 ? 0 : epochs.length - 1) : at + move); event.preventDefault(); }
  });
  return make("figure", {}, make("figcaption", {}, `${title} by epoch`), drawn, readout);
}

function training() {
  const names = [...new Set(D.runs.flatMap((run) => Object.keys(run.curves)))];
  if (!names.length) return section("Training", make("p", { class: "soft" }, several ? "These runs learned nothing by epochs." : "This run learned nothing by epochs."));
  names.sort((a, b) => a.startsWith("dev ") - b.startsWith("dev "));
  const charts = names.map((name) => chart(name, D.runs.map((run, number) => ({ run: number, epochs: run.epochs, values: run.curves[name] ?? run.epochs.map(() => null), best: run.best }))));
  const keys = several ? make("ul", { class: "key-list" }, D.runs.map((_, run) => make("li", {}, runName(run)))) : null;
  const first = charts.filter((_, place) => !names[place].startsWith("dev ") || names[place] === `dev ${D.measures[D.chosen]}`);
  const rest = charts.filter((each) => !first.includes(each));
  return section("Training", keys, make("div", { class: "charts" }, first),
    rest.length ? make("details", {}, make("summary", {}, "The other curves"), make("div", { class: "charts" }, rest)) : null,
    make("p", { class: "soft small" }, "The ring marks the epoch whose weights were kept."));
}

// ---- two runs

const pairOfRuns = { one: 0, two: 1, measure: 0 };

function comparison() {
  pairOfRuns.measure = D.chosen;
  const body = make("div");
  const draw = () => body.replaceChildren(...compared());
  const choose = (label, name, values) => make("label", {}, label, make("select", { change: (event) => {
    const chosen = Number(event.target.value), other = name === "one" ? "two" : "one";
    if (name !== "measure" && pairOfRuns[other] === chosen) pairOfRuns[other] = pairOfRuns[name];
    const bySide = sorting.by === gap();
    pairOfRuns[name] = chosen;
    if (bySide) sorting.by = gap();
    for (const [key, select] of Object.entries(selects)) select.value = pairOfRuns[key];
    draw();
    if (list) list();
  } }, values.map((value, number) => make("option", { value: number, selected: pairOfRuns[name] === number }, value))));
  const names = D.runs.map((run, number) => `${letter(number)}  ${run.name}`);
  const labels = [choose("measure", "measure", D.measures), choose("first run", "one", names), choose("second run", "two", names)];
  const selects = { measure: labels[0].querySelector("select"), one: labels[1].querySelector("select"), two: labels[2].querySelector("select") };
  draw();
  return section("Run against run", make("div", { class: "tools" }, labels), body);
}

const valuesOf = (run, measure) => D.questions.values[run][measure];
const gap = () => `${letter(pairOfRuns.one)} − ${letter(pairOfRuns.two)}`;
const difference = (place) => valuesOf(pairOfRuns.one, pairOfRuns.measure)[place] - valuesOf(pairOfRuns.two, pairOfRuns.measure)[place];

function compared() {
  const { one, two, measure } = pairOfRuns, name = D.measures[measure];
  const differences = D.questions.id.map((_, place) => difference(place));
  const [better, worse] = [differences.filter((each) => each > 1e-9).length, differences.filter((each) => each < -1e-9).length];
  const equal = differences.length - better - worse;
  const row = D.comparisons.find((each) => each.measure.toLowerCase() === name.toLowerCase() && [one, two].includes(each.first) && [one, two].includes(each.second));
  const turn = row.first === one ? 1 : -1;
  const [low, high] = turn > 0 ? [row.low, row.high] : [row.high, row.low];
  const p = row["p (Holm)"];
  const sure = p < 0.05 ? `${letter(turn * row.difference > 0 ? one : two)} is better beyond chance` : "this may be chance";
  const shownP = (value) => (value < 0.001 ? "< 0.001" : value.toFixed(3));
  return [make("div", { class: "charts" },
    make("div", {},
      make("h3", {}, `Who is better, by ${name}`),
      make("div", { class: "wins", "aria-hidden": "true" },
        make("i", { class: runClass(one), style: `flex:${better}` }), make("i", { class: "equal", style: `flex:${equal}` }), make("i", { class: runClass(two), style: `flex:${worse}` })),
      make("p", {}, `${letter(one)} in ${better}, equal in ${equal}, ${letter(two)} in ${worse} of ${count(differences.length, unit)}`),
      make("table", {}, make("tbody", {},
        [[`mean of ${letter(one)}`, shown3(turn > 0 ? row["first mean"] : row["second mean"])], [`mean of ${letter(two)}`, shown3(turn > 0 ? row["second mean"] : row["first mean"])],
          ["difference", signed3(turn * row.difference)], ["its 95% interval", row.low === null ? "–" : `${signed3(turn * low)} to ${signed3(turn * high)}`],
          ["Cohen’s d of pairs", row.d === null ? "–" : signed3(turn * row.d)], ["p", shownP(row.p)], ["p by Holm", shownP(p)]].map(([label, value]) =>
          make("tr", {}, make("th", { scope: "row" }, label), make("td", { class: "number" }, value))))),
      make("p", {}, `${row.difference === 0 ? "No difference" : `${letter(one)} minus ${letter(two)}: ${signed3(turn * row.difference)}`}; ${sure}.`)),
    scatter(one, two, measure)),
  make("p", { class: "more" }, [[one, true], [two, false]].map(([run, down]) => make("button", { type: "button", class: "quiet", click: () => {
    [sorting.by, sorting.down] = [gap(), down];
    refilter();
    document.getElementById("questions").scrollIntoView();
  } }, `${unit}s in which ${letter(run)} is better by most`))),
  make("p", { class: "soft small" }, `p is of the paired ${D.classes.length ? "t-test" : "randomisation test"}; Holm’s correction is for all measures and pairs of runs.`)];
}

function scatter(one, two, measure) {
  const size = 330, edge = 50, points = new Map();
  D.questions.id.forEach((_, place) => {
    const at = [valuesOf(one, measure)[place], valuesOf(two, measure)[place]].map((value) => Math.round(value * 50) / 50);
    const key = at.join();
    if (!points.has(key)) points.set(key, { at, places: [] });
    points.get(key).places.push(place);
  });
  const x = (value) => edge + value * (size - edge - 10), y = (value) => size - edge - value * (size - edge - 10);
  const list = [...points.values()].sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1]);
  const most = Math.max(...list.map((point) => point.places.length));
  const circles = list.map((point, number) => make("circle", { class: "point", cx: x(point.at[0]), cy: y(point.at[1]), r: 3 + 11 * Math.sqrt(point.places.length / most), pointerenter: () => read(number), click: () => { read(number); open(); } }));
  const readout = make("p", { class: "readout", role: "status" }, "Each disc is one question or more. The arrow keys read them, Enter lists them.");
  let at = -1;
  function read(number) {
    if (at >= 0) circles[at].classList.remove("on");
    at = (number + list.length) % list.length;
    circles[at].classList.add("on");
    readout.textContent = `${letter(one)} ${list[at].at[0].toFixed(2)}, ${letter(two)} ${list[at].at[1].toFixed(2)}: ${count(list[at].places.length, unit)}`;
  }
  function open() {
    if (at < 0) return;
    filters.places = new Set(list[at].places);
    filters.placesSaid = `${letter(one)} ${list[at].at[0].toFixed(2)} and ${letter(two)} ${list[at].at[1].toFixed(2)} in ${D.measures[measure]}`;
    refilter();
    document.getElementById("questions").scrollIntoView();
  }
  const drawn = make("svg", { viewBox: `0 0 ${size} ${size}`, tabindex: "0", role: "img", style: "max-width: 25rem", "aria-label": `${D.measures[measure]} of each ${unit}, ${letter(one)} across and ${letter(two)} up; the arrow keys read the points`,
    keydown: (event) => {
      const move = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (move) { read(at < 0 ? 0 : at + move); event.preventDefault(); }
      if (event.key === "Enter") open();
    } },
  [0, 0.5, 1].map((value) => make("g", {},
    make("line", { class: "axis", x1: x(value), x2: x(value), y1: y(0), y2: y(1) }), make("line", { class: "axis", x1: x(0), x2: x(1), y1: y(value), y2: y(value) }),
    make("text", { x: x(value), y: y(0) + 18, "text-anchor": "middle" }, String(value)), make("text", { x: x(0) - 8, y: y(value) + 4, "text-anchor": "end" }, String(value)))),
  make("line", { class: "guide", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }), circles,
  make("text", { x: x(0.5), y: size - 4, "text-anchor": "middle" }, letter(one)), make("text", { x: 4, y: y(0.5) + 4 }, letter(two)));
  return make("figure", {}, make("figcaption", {}, `${D.measures[measure]} of each ${unit}`), drawn, readout);
}

// ---- the table of questions

const filters = { search: "", word: "", from: "", to: "", rank: "", run: 0, label: "", looked: "", places: null, placesSaid: "" };
const sorting = { by: "", down: false };
const WORDS = /\b(who|whom|whose|what|when|where|which|why|how)\b/i;
const RANKS = { 1: [1, 1], 2: [2, 2], 3: [3, 3], "4 to 10": [4, 10], "below 10": [11, Infinity], "no right answer": [0, 0] };
const PAGE = 50;
let shownRows = PAGE, found = [], list = null, refilter = null;
const openQuestions = new Map(); // of each open question, its cell below the line
const narrow = matchMedia("(max-width: 44rem)");
narrow.addEventListener("change", () => list && list());

const questionWord = (place) => (D.questions.text[place].match(WORDS)?.[1] ?? "other").toLowerCase();
const looked = (place) => D.looks.questions.includes(place);
const listed = (place) => beginning(D.questions.text[place], 200) || D.questions.id[place];

/** The columns of the table: a name, its value for a question, how it is written, and whether a phone leaves it out. */
function columns() {
  const q = D.questions, whole = (value) => String(value);
  const found = [{ name: "words", value: (place) => q.words[place], write: whole, spare: true }];
  if (!D.classes.length) {
    if (!several) found.push({ name: "candidates", value: (place) => q.candidates[place], write: whole, spare: true }, { name: "right", value: (place) => q.right[place], write: whole, spare: true });
    D.runs.forEach((_, run) => found.push({ name: several ? `${letter(run)} first right` : "first right", value: (place) => q.first[run][place] || Infinity, write: (value) => (value === Infinity ? "–" : String(value)), spare: several }));
  }
  if (several) {
    const measure = pairOfRuns.measure;
    D.runs.forEach((_, run) => found.push({ name: `${letter(run)} ${D.measures[measure]}`, value: (place) => valuesOf(run, measure)[place], write: shown3 }));
    found.push({ name: gap(), value: difference, write: signed3, size: true });
  } else {
    D.measures.forEach((name, measure) => found.push({ name, value: (place) => valuesOf(0, measure)[place], write: shown3, spare: measure !== D.chosen }));
  }
  return found;
}

function passes(place) {
  const q = D.questions, f = filters;
  if (f.places && !f.places.has(place)) return false;
  if (f.search && !(q.text[place].toLowerCase().includes(f.search) || q.id[place].toLowerCase().includes(f.search))) return false;
  if (f.word && questionWord(place) !== f.word) return false;
  if (f.from !== "" && q.words[place] < Number(f.from)) return false;
  if (f.to !== "" && q.words[place] > Number(f.to)) return false;
  if (f.rank) { const [low, high] = RANKS[f.rank], first = q.first[f.run][place]; if (first < low || first > high) return false; }
  if (f.label && !q.labels[place].includes(f.label)) return false;
  if (f.looked && !looked(place)) return false;
  return true;
}

function questions() {
  const q = D.questions;
  const [body, head, said, more, sort] = [make("tbody"), make("thead"), make("p", { class: "soft small", role: "status" }), make("div", { class: "more" }), make("select", { change: (event) => { [sorting.by, sorting.down] = [event.target.value.slice(1), event.target.value[0] === "-"]; refilter(); } })];
  const change = (name) => (event) => { filters[name] = name === "search" ? event.target.value.trim().toLowerCase() : name === "run" ? Number(event.target.value) : event.target.value; refilter(); };
  const choose = (label, name, values) => make("label", {}, label, make("select", { change: change(name) }, values.map(([value, shown]) => make("option", { value }, shown))));
  const present = [...new Set(q.text.map((_, place) => questionWord(place)))].sort((a, b) => (a === "other") - (b === "other") || a.localeCompare(b));
  const labels = [...new Set(q.labels.flat())].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const tools = make("form", { class: "tools", submit: (event) => event.preventDefault(), "aria-label": `Choose ${unit}s` },
    make("label", { class: "search" }, `search ${unit}s and ids`, make("input", { type: "search", input: change("search") })),
    choose("question word", "word", [["", "any"], ...present.map((word) => [word, word])]),
    make("label", {}, "words, from and to", make("span", { class: "pair" },
      make("input", { type: "number", min: "0", input: change("from"), "aria-label": "words, from", placeholder: Math.min(...q.words) }), make("input", { type: "number", min: "0", input: change("to"), "aria-label": "words, to", placeholder: Math.max(...q.words) }))),
    D.classes.length ? null : choose("first right answer ranked", "rank", [["", "anywhere"], ...Object.keys(RANKS).sort((a, b) => RANKS[a][0] - RANKS[b][0] || 0).filter((name) => name !== "no right answer").map((name) => [name, name]), ["no right answer", "no right answer"]]),
    several && !D.classes.length ? choose("by run", "run", D.runs.map((run, number) => [number, `${letter(number)}  ${run.name}`])) : null,
    choose(D.classes.length ? "class" : "has a candidate labelled", "label", [["", "any"], ...labels.map((label) => [label, label])]),
    D.looks.questions.length ? choose("what the model looked at", "looked", [["", `all ${unit}s`], ["yes", "only where it is kept"]]) : null,
    make("label", {}, "sort by", sort));
  list = () => {
    const all = columns(), visible = all.filter((column) => !(narrow.matches && column.spare));
    head.replaceChildren(make("tr", {}, make("th", { scope: "col" }, unit), visible.map((column) => make("th", { scope: "col", class: "number", "aria-sort": sorting.by === column.name ? (sorting.down ? "descending" : "ascending") : null },
      make("button", { type: "button", click: () => { sorting.down = sorting.by === column.name ? !sorting.down : !!column.size; sorting.by = column.name; refilter(); } }, column.name)))));
    sort.replaceChildren(make("option", { value: "+" }, "order of the data"), ...all.flatMap((column) => [make("option", { value: `+${column.name}` }, `${column.name}, low first`), make("option", { value: `-${column.name}` }, `${column.name}, high first`)]));
    sort.value = (sorting.down ? "-" : "+") + sorting.by;
    found = q.id.map((_, place) => place).filter(passes);
    const by = all.find((column) => column.name === sorting.by);
    if (by) found.sort((a, b) => { const [first, second] = [by.value(a), by.value(b)]; return (first === second ? 0 : first < second ? -1 : 1) * (sorting.down ? -1 : 1) || a - b; });
    body.replaceChildren(...found.slice(0, shownRows).flatMap((place) => rows(place, visible)));
    said.replaceChildren(`${count(found.length, unit)}${found.length < q.id.length ? ` of ${q.id.length.toLocaleString("en")}` : ""}${filters.placesSaid ? `, with ${filters.placesSaid}` : ""} `,
      filters.places ? make("button", { type: "button", class: "quiet", click: () => { filters.places = null; filters.placesSaid = ""; refilter(); } }, "show all again") : "");
    more.replaceChildren(...(found.length > shownRows ? [make("button", { type: "button", class: "quiet", click: () => { shownRows += 4 * PAGE; list(); } }, `show ${Math.min(4 * PAGE, found.length - shownRows)} more`)] : []));
  };
  refilter = () => { shownRows = PAGE; list(); };
  const linked = q.id.indexOf(decodeURIComponent(location.hash.slice(3)));
  if (location.hash.startsWith("#q=") && linked >= 0) {
    filters.places = new Set([linked]);
    filters.placesSaid = `the id ${q.id[linked]}`;
    openQuestions.set(linked, make("td"));
  }
  list();
  const kept = D.looks.questions.length
    ? `What the model looked at is kept for ${count(D.looks.questions.length, unit)}, marked “attention”: ${several ? "half of them those in which the runs differ most" : "half of them the hardest"}, the others spread evenly. qaexp report takes --attention COUNT for more, and --question ID for others.`
    : D.looks.asked ? "What the model looked at is not kept: the model shows nothing over words, its texts have several fields, or the run has no checkpoint." : "What the model looked at was left out (--attention 0).";
  const block = section(D.classes.length ? "Pairs" : "Questions", tools, said, scroll(`Table of ${unit}s`, make("table", { class: "questions" }, head, body)), more, make("p", { class: "soft small" }, kept));
  block.id = "questions";
  return block;
}

function rows(place, visible) {
  const q = D.questions, isOpen = openQuestions.has(place);
  const button = make("button", { type: "button", class: "open", dir: "auto", "aria-expanded": String(isOpen), click: () => {
    if (openQuestions.has(place)) { openQuestions.delete(place); detail.remove(); button.setAttribute("aria-expanded", "false"); history.replaceState(null, "", location.pathname + location.search); }
    else { openQuestions.set(place, inside); line.after(detail); fill(); button.setAttribute("aria-expanded", "true"); history.replaceState(null, "", `#q=${encodeURIComponent(q.id[place])}`); }
  } }, listed(place));
  const line = make("tr", {}, make("td", { class: "text" }, button, looked(place) ? make("span", { class: "eye" }, "attention") : null),
    visible.map((column) => make("td", { class: "number" }, column.write(column.value(place)))));
  const inside = openQuestions.get(place) ?? make("td");
  inside.colSpan = visible.length + 1;
  const detail = make("tr", { class: "detail" }, inside);
  const fill = () => { if (!inside.firstChild) question(place).then((drawn) => inside.replaceChildren(drawn)).catch((error) => inside.replaceChildren(make("p", { role: "alert" }, String(error.message ?? error)))); };
  if (isOpen) fill();
  return isOpen ? [line, detail] : [line];
}

// ---- one question

async function question(place) {
  const pool = await divided("pools", D.pools, place);
  const at = D.looks.questions.indexOf(place);
  const looks = at < 0 ? [] : await divided("looks", D.looks.starts, at);
  const state = { right: "all", most: 10 };
  const rankings = make("div", { class: "rankings" });
  const draw = async () => rankings.replaceChildren(...await Promise.all(D.runs.map((_, run) => ranking(pool, run, looks, state, draw))));
  const press = (value, name) => make("button", { type: "button", class: "quiet", "aria-pressed": String(state.right === value), click: (event) => {
    state.right = value;
    for (const other of event.target.parentNode.children) other.setAttribute("aria-pressed", String(other === event.target));
    draw();
  } }, name);
  await draw();
  return make("div", {},
    make("div", { class: "meta", style: "margin: .2rem 0 .9rem" }, make("span", {}, `id ${D.questions.id[place]}`),
      D.classes.length || !pool.right.includes(1) ? null : make("span", { role: "group", "aria-label": "candidates", class: "pair" }, press("all", `all ${pool.text.length}`), press(1, "right"), press(0, "wrong"))),
    listed(place) === D.questions.text[place] ? null : make("div", { class: "whole" }, written(D.questions.text[place])),
    rankings);
}

async function ranking(pool, run, looks, state, redraw) {
  const order = pool.text.map((_, place) => place).sort((a, b) => pool.rank[run][a] - pool.rank[run][b]).filter((place) => state.right === "all" || pool.right[place] === state.right);
  const items = await Promise.all(order.slice(0, state.most).map((place) => candidate(pool, run, place, looks.filter((look) => look.run === run && look.candidate === place))));
  const rest = order.length - items.length;
  return make("div", { class: "ranking" }, several ? make("h3", {}, runName(run)) : null, make("ol", {}, items),
    order.length ? null : make("p", { class: "soft" }, "no such candidate"),
    rest > 0 ? make("div", { class: "more" }, make("button", { type: "button", class: "quiet", click: () => { state.most += 40; redraw(); } }, `show ${Math.min(40, rest)} more of ${rest}`)) : null);
}

async function candidate(pool, run, place, looks) {
  const text = await divided("texts", D.texts, pool.text[place]), right = pool.right[place] && !D.classes.length;
  const others = several && !D.classes.length ? D.runs.map((_, other) => other).filter((other) => other !== run).map((other) => make("span", {}, `${letter(other)} ranks it ${pool.rank[other][place]}`)) : [];
  const panel = make("div", { class: "look" });
  const button = looks.length ? make("button", { type: "button", class: "quiet", "aria-expanded": "false", click: () => {
    const show = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(show));
    panel.replaceChildren(...(show ? looks.flatMap((look) => look.heats).map(heat) : []));
  } }, "what the model looked at") : null;
  const score = pool.score[run][place];
  return make("li", { class: right ? "right" : "" },
    make("span", { class: "rank" }, D.classes.length ? "" : String(pool.rank[run][place])),
    make("div", { style: "min-width: 0" }, written(text),
      make("div", { class: "meta" },
        make("span", { class: `label${right ? " right" : ""}` }, D.classes.length || !/^[01]$/.test(pool.label[place]) ? `${right ? "right, " : ""}label ${pool.label[place]}` : right ? "right" : "wrong"),
        D.classes.length ? null : make("span", {}, `score ${shownScore(score)}`), others, make("span", {}, `id ${pool.id[place]}`), button),
      D.classes.length ? probabilities(D.classes, score) : null,
      panel));
}

begin();
