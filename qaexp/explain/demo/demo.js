// Ranks what is typed and shows what has moved. Comes after words.js in the page.

const state = { result: null, labels: [], before: null, open: new Set(), most: 20, asking: false, again: false };
let A, several, form, results, said;

async function ask(path, body) {
  const sent = body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {};
  let answer;
  try {
    answer = await fetch(path, sent);
  } catch {
    throw new Error("The demo does not answer: start qaexp demo again");
  }
  const found = await answer.json().catch(() => null);
  if (!answer.ok || !found) throw new Error(found?.error ?? `The demo failed (${answer.status}); its terminal says why`);
  return found;
}

async function begin() {
  const page = document.getElementById("page");
  try {
    A = await ask("about");
  } catch (error) {
    page.replaceChildren(make("h1", {}, "This demo cannot be opened"), make("p", { role: "alert" }, error.message));
    return;
  }
  several = A.runs.length > 1;
  const names = A.runs.map((run) => run.name).join(" and ");
  document.title = `${names}: qaexp demo`;
  [form, results, said] = [makeForm(), make("section", { "aria-label": "Ranking" }), make("p", { class: "soft small", role: "status" })];
  page.replaceChildren(
    make("header", {}, make("h1", {}, `Try ${names}`), make("p", { class: "soft" }, A.runs[0].classes.length
      ? "Type a text and others, one a line, and see the class of each pair. Change a word and watch."
      : "Type a question and candidates, one a line, and see how they are ranked. Change a word and watch."),
    A.notes.map((note) => make("p", { class: "soft small" }, note))),
    make("div", { class: several ? "demo wide" : "demo" }, make("div", {}, form, said), results));
  if (A.questions) await choose(0);
  document.body.dataset.ready = "yes";
}

const question = () => form.elements.question.value;
const lines = () => form.elements.candidates.value.split("\n").map((text) => text.trim()).filter((text) => text !== "");

function makeForm() {
  const found = make("ul", { class: "found", hidden: true });
  const list = async (event) => {
    const typed = event.target, words = typed.value.trim();
    const all = await ask(`questions?find=${encodeURIComponent(words)}`).catch(() => []);
    if (words !== typed.value.trim()) return; // more was typed meanwhile
    found.replaceChildren(...all.map((each) => make("li", {}, make("button", { type: "button", dir: "auto", click: () => { found.hidden = true; choose(each.number); } }, each.text || "(an empty text)"))));
    found.hidden = all.length === 0;
  };
  const close = (event) => { if (event.key === "Escape") found.hidden = true; };
  return make("form", { submit: (event) => event.preventDefault(), "aria-label": "Texts" },
    A.questions ? make("div", {}, make("label", {}, `a ${A.runs[0].classes.length ? "pair" : "question"} of ${A.dataset}, ${A.split} (${A.questions.toLocaleString("en")})`,
      make("input", { type: "search", name: "find", autocomplete: "off", placeholder: "search", input: list, focus: list, keydown: close })), found) : null,
    make("label", {}, A.runs[0].classes.length ? "text" : "question", make("textarea", { name: "question", rows: 2, dir: "auto", input: changed })),
    make("label", {}, A.runs[0].classes.length ? "other texts, one a line" : "candidates, one a line",
      make("textarea", { name: "candidates", class: "lines", rows: 12, dir: "auto", input: changed })),
    make("div", { class: "more" },
      make("button", { type: "button", class: "quiet", click: () => { state.before = state.result; draw(); } }, `compare with ${A.runs[0].classes.length ? "these classes" : "this ranking"}`)));
}

async function choose(number) {
  const chosen = await ask(`questions/${number}`).catch((error) => { said.textContent = error.message; });
  if (!chosen) return;
  form.elements.question.value = chosen.question;
  const kept = chosen.candidates.map((text, place) => [text, chosen.labels[place]]).filter(([text]) => text !== "");
  form.elements.candidates.value = kept.map(([text]) => text).join("\n");
  Object.assign(state, { labels: kept.map(([, label]) => label), before: null, most: 20 });
  state.open.clear();
  await rank();
}

let timer = 0;
function changed() {
  clearTimeout(timer);
  timer = setTimeout(rank, 150);
}

/** Ranks what is typed. One question is on its way at a time; what is typed meanwhile follows it. */
async function rank() {
  if (state.asking) { state.again = true; return; }
  const texts = lines();
  if (!texts.length) { state.result = null; said.textContent = ""; draw(); return; }
  if (texts.length > A.most) { said.textContent = `There are ${texts.length.toLocaleString("en")} candidates; give ${A.most} at most.`; return; }
  state.asking = true;
  results.classList.add("busy");
  try {
    const asked = question(), runs = await ask("rank", { question: asked, candidates: texts });
    if (state.labels.length !== texts.length) state.labels = [];
    state.result = { question: asked, texts, runs };
    if (!state.before || state.before.texts.length !== texts.length) state.before = state.result;
    const cut = runs.map((run, number) => (run.read < run.words ? `${several ? `${letter(number)} reads` : "The model reads"} ${count(run.read, "word")} of the question’s ${run.words.toLocaleString("en")}.` : "")).filter(Boolean);
    said.textContent = cut.join(" ");
    await draw();
  } catch (error) {
    said.textContent = error.message;
  }
  state.asking = false;
  results.classList.remove("busy");
  if (state.again) { state.again = false; rank(); }
}

async function draw() {
  const result = state.result;
  if (!result) { results.replaceChildren(); return; }
  const shown = await Promise.all([...state.open].map(async (place) => [place, place < result.texts.length ? await ask("look", { question: result.question, candidates: [result.texts[place]] }) : []]));
  if (state.result !== result) return; // the texts were changed meanwhile
  const focus = document.activeElement?.dataset?.at;
  results.replaceChildren(make("div", { class: several ? "rankings" : "" }, result.runs.map((run, number) => ranking(run, number, new Map(shown)))));
  if (focus) results.querySelector(`[data-at="${focus}"]`)?.focus();
}

function ranking(run, number, shown) {
  const before = state.before.runs[number];
  const rest = run.order.length - state.most;
  return make("div", { class: `ranking ${runClass(number)}` },
    several ? make("h2", { style: "margin: 0 0 .5rem; font-size: 1rem" }, make("span", { class: "key", "aria-hidden": "true" }), `${letter(number)}  ${A.runs[number].name}`) : null,
    make("ol", {}, run.order.slice(0, state.most).map((place, rank) => candidate(run, before, number, place, rank + 1, shown.get(place)))),
    rest > 0 ? make("div", { class: "more" }, make("button", { type: "button", class: "quiet", "data-at": `more-${number}`, click: () => { state.most += 40; draw(); } }, `show ${Math.min(40, rest)} more of ${rest}`)) : null);
}

function candidate(run, before, number, place, rank, looks) {
  const classes = A.runs[number].classes, label = state.labels[place], score = run.scores[place];
  const former = before.order.indexOf(place) + 1, differs = JSON.stringify(before.scores[place]) !== JSON.stringify(score);
  const moved = classes.length || !differs ? null : former === rank ? `score was ${shownScore(before.scores[place])}`
    : `${former > rank ? "↑" : "↓"} was ${former}, score ${shownScore(before.scores[place])}`;
  const still = !classes.length && !differs && former !== rank ? `${former > rank ? "↑" : "↓"} was ${former}` : moved;
  const [low, high] = [Math.min(...run.scores), Math.max(...run.scores)];
  const isOpen = state.open.has(place);
  const heats = isOpen && looks ? looks[number] : [];
  return make("li", { class: label === "right" ? "right" : "" },
    make("span", { class: "rank" }, classes.length ? "" : String(rank)),
    make("div", { style: "min-width: 0" },
      written(state.result.texts[place]),
      make("div", { class: "meta" },
        label ? make("span", { class: `label${label === "right" ? " right" : ""}` }, label) : null,
        classes.length ? null : make("span", {}, `score ${shownScore(score)}`),
        still ? make("span", { class: "moved" }, still) : null,
        make("button", { type: "button", class: "quiet", "data-at": `look-${number}-${place}`, "aria-expanded": String(isOpen), click: () => { if (isOpen) state.open.delete(place); else state.open.add(place); draw().catch((error) => { said.textContent = error.message; }); } }, "what the model looked at")),
      classes.length
        ? probabilities(classes, score, classes.map((_, at) => (differs ? `was ${shown3(before.scores[place][at])}` : "")))
        : make("span", { class: "bar", "aria-hidden": "true", style: `width: ${high > low ? (100 * (score - low)) / (high - low) : 100}%` }),
      isOpen ? make("div", { class: "look" }, heats.length ? heats.map(heat) : make("p", { class: "soft small" }, "This model shows nothing over words.")) : null));
}

begin();
