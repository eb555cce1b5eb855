// The page's head, its tables, and what was left out.

// Table 1 of arXiv 2506.15556: Qwen2.5-7B-Instruct on its authors' machine.
// TTFS in ms, NFE, latency in ms, score, speed-up.
const kPublished = {
  lmsys: {name: "Lmsys", score: "GPT-4 grade", rows: {
    baseline: [488, 17.9, 726, 8.23, 1],
    greedy: [248, 9.7, 374, 8.23, 1.9],
    top3: [171, 6.4, 263, 8.23, 2.8],
    reflection: [224, 6.2, 311, 8.23, 2.3],
    cllm: [295, 9.8, 410, 8.79, 1.8]
  }},
  mt_bench: {name: "MT-Bench", score: "GPT-4 grade", rows: {
    baseline: [992, 35.0, 1233, 8.27, 1],
    greedy: [623, 24.4, 764, 8.27, 1.6],
    top3: [511, 20.0, 612, 8.22, 2.0],
    reflection: [405, 15.0, 497, 8.07, 2.6],
    cllm: [386, 14.3, 529, 8.51, 2.3]
  }},
  gsm8k: {name: "GSM8K", score: "accuracy", rows: {
    baseline: [1320, 42.8, 1559, 0.83, 1],
    greedy: [1174, 38.7, 1371, 0.83, 1.1],
    top3: [544, 14.7, 627, 0.80, 2.5],
    reflection: [736, 12.4, 779, 0.80, 2.0],
    cllm: [1023, 29.7, 1194, 0.83, 1.3]
  }},
  mmlu_pro: {name: "MMLU-Pro", score: "accuracy", rows: {
    baseline: [1421, 51.6, 1670, 0.50, 1],
    greedy: [984, 35.7, 1120, 0.50, 1.5],
    top3: [302, 10.0, 361, 0.50, 4.6],
    reflection: [994, 40.5, 1107, 0.50, 1.5],
    cllm: [665, 22.7, 805, 0.50, 2.1]
  }},
};

const heading = (text, id) => element("h2", {id}, text);

// The method that saves the most time among those that keep the baseline's texts, or not; null: none saves any.
function soonest(run, keepsTexts) {
  const value = (method) => run.msSooner(method)?.value ?? 0;
  return run.methods.filter((method) => run.keepsTexts(method) === keepsTexts && value(method) > 0)
    .reduce((best, method) => best === null || value(method) > value(best) ? method : best, null);
}

// The headline figures; null: there are none.
function headlineTiles(run) {
  const tiles = [], baseline = run.methods.find((method) => run.isBaseline(method)) ?? "";
  const waits = run.method(baseline).audio_latency?.mean;
  if (isNumber(waits)) {
    tiles.push(
      tile(`The ${baseline} waits`, `${fixed(1e3 * waits, 0)} ms`, "from the last word to the first sound, mean"));
  }
  const same = soonest(run, true), other = soonest(run, false);
  for (const [name, method] of [["With the same texts", same], ["With other texts", other]]) {
    if (method === null) continue;
    const {value, low, high} = run.msSooner(method), changed = run.comparison(method).changed_text?.share;
    const note = method === other && isNumber(changed) ? `; changes ${fixed(100 * changed, 0)} % of the texts` : "";
    tiles.push(tile(
      `${name}: ${method}`, `${fixed(value, 0)} ms sooner`,
      `the first sound, mean (${fixed(low, 0)}–${fixed(high, 0)})${note}`));
  }
  const measure = qualityMeasure(run), before = measure?.of(baseline),
        after = other !== null ? measure?.of(other) : null;
  if (measure?.isOfAnswers && before && after) {
    tiles.push(tile(
      measure.name, `${fixed(before.value, measure.digits)} → ${fixed(after.value, measure.digits)}`,
      `${baseline} → ${other}`));
  }
  return tiles.length ? element("div", {class: "tiles"}, tiles) : null;
}

// The run in the form of the paper's Table 1; on a set that the paper has, beside what it published.
function paperTable(run, id) {
  const paper = kPublished[run.results.set?.paper] ?? null, measure = qualityMeasure(run);
  const ownHead = ["TTFS, ms", "NFE", "First sound, ms", measure?.short ?? "quality", "Sooner, ms"];
  const th = (text, attributes = {}) => element("th", attributes, text);
  const td = (content, attributes = {}) => element("td", attributes, content);
  const heads = paper
    ? [element("tr", {}, th("Method", {rowspan: 2}), th(`This run: ${run.model}, cost ${run.cost}`, {colspan: 6}),
      th(`The paper: Qwen2.5-7B-Instruct, ${paper.name}`, {colspan: 5, class: "paper"})),
    element("tr", {}, [...ownHead, "Speed-up"].map((text) => th(text)), th("TTFS, ms", {class: "paper"}),
      ["NFE", "Latency, ms", paper.score, "Speed-up"].map((text) => th(text)))]
    : [element("tr", {}, th("Method"), ownHead.map((text) => th(text)))];
  const milliseconds = (mean) => fixed(isNumber(mean) ? 1e3 * mean : null, 0);
  const rowOf = (name) => {
    const method = run.method(name), sooner = run.msSooner(name);
    const row = element(
      "tr", {}, th(name, {scope: "row"}), td(milliseconds(method.ttfs?.mean)), td(fixed(method.nfe_paper?.mean, 1)),
      td(milliseconds(method.audio_latency?.mean)), td(fixed(measure?.of(name)?.value, measure?.digits ?? 0)),
      element("td", {}, sooner ? [
        `${fixed(sooner.value, 0)} `, element("small", {}, `${fixed(sooner.low, 0)}–${fixed(sooner.high, 0)}`)
      ] : ""));
    if (!paper) return row;
    const [ttfs, nfe, latency, score, speedup] = paper.rows[name] ?? [];
    const own = run.isBaseline(name) || !isNumber(method.speedup) ? "" : times(method.speedup, 1);
    row.append(
      td(own), td(fixed(ttfs, 0), {class: "paper"}), td(fixed(nfe, 1)), td(fixed(latency, 0)), td(fixed(score, 2)),
      td(speedup === 1 ? "" : times(speedup, 1)));
    return row;
  };
  const title = paper ? "Table 1, beside the paper's" : "Summary";
  const beside =
    "Right: Table 1 of arXiv 2506.15556, as its authors measured it with their model on their machine. Left: this " +
    "run. " +
    "Compare the ratios, not the milliseconds. ";
  return [
    heading(title, id),
    scrolled(element(
      "table", {class: "figures", "aria-label": title}, element("thead", {}, heads),
      element("tbody", {}, run.methods.map(rowOf)))),
    element(
      "p", {class: "note"},
      `${paper ? beside : ""}TTFS: from the end of the turn to the first sentence. NFE: forward passes in ` +
        "that time, at least one. Sooner: than the baseline's first sound, with the 95 % interval.")
  ];
}

// Heads become buttons that sort. A cell's key is its data-sort, else its text.
function sortable(table) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, column) => {
    const button = element("button", {type: "button"}, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isUp = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      const keyed = [...table.tBodies[0].rows].map(
        (row) => [row, row.cells[column].dataset.sort ?? row.cells[column].textContent.trim()]);
      keyed.sort(([, a], [, b]) => {
        const x = parseFloat(a), y = parseFloat(b),
              missing = isNaN(x) - isNaN(y);  // what is no number stands at the end
        const order = isNaN(x) && isNaN(y) ? a.localeCompare(b) : missing || x - y;
        return missing || isUp ? order : -order;
      });
      table.tBodies[0].append(...keyed.map(([row]) => row));
    });
  });
  return table;
}

const sortableTable = (label, {head, rows}) => scrolled(sortable(makeTable(label, head, rows)));

// Every figure of every method, the same over turns that are not in the training data, and by category.
function methodTables({methods, unseen, categories}, id) {
  const unseenTitle = "Turns that the training data lacks",
        categoryTitle = "Right answers by category, % with the 95 % interval";
  return [heading("Every figure of every method", id), sortableTable("Every figure of every method", methods),
    ...unseen ? [element("h3", {}, unseenTitle), sortableTable(unseenTitle, unseen)] : [],
    ...categories.rows.length ? [element("h3", {}, categoryTitle),
      sortableTable(categoryTitle, {head: ["category", ...categories.head.slice(1)], rows: categories.rows})] : []];
}

// Where it pays: `tables` of C++'s group_table(), or null.
function groupTables(tables, id) {
  const title = heading("Where it pays", id);
  if (!tables) {
    return [
      title,
      element(
        "p", {class: "missing"}, element("b", {}, "Groups of turns"),
        " are not here: these results were written without.")
    ];
  }
  const meanings = new Map(tables.flatMap(({columns}) => columns.map((column) => [column.title, column.meaning])));
  const tableOf = ({title: name, columns, groups, missing}) => {
    if (missing) return element("p", {class: "missing"}, `Not here: ${missing}.`);
    const table = makeTable(
      name, ["method", ...columns.map((column) => element("span", {title: column.meaning}, column.title))], []);
    table.tBodies[0].remove();
    for (const group of groups) {
      const body = makeTable("", [], group.rows).tBodies[0];
      body.prepend(element("tr", {}, element("th", {colspan: columns.length + 1, scope: "rowgroup"}, group.title)));
      table.append(body);
    }
    return scrolled(table);
  };
  return [
    title, ...tables.flatMap((table) => [element("h3", {}, table.title), tableOf(table)]),
    element(
      "p", {class: "soft"}, [...meanings].flatMap(([name, meaning]) => [element("b", {}, name), `: ${meaning}. `]))
  ];
}

// Failed turns, answers that could not be judged, turns of the training data, skipped rows of sets; null: nothing was.
function leftOut(results, heard) {
  const kMostLines = 50, where = (row) => `${row.id ?? ""}, ${row.method ?? ""}`;
  const failed = (results.failed ?? [])
                   .map((turn) => `${where(turn)} (${turn.model ?? ""}, ${turn.cost ?? ""}): ${turn.error ?? ""}`);
  const unjudged = (results.turns ?? []).flatMap((row) => [row.judge_grade_problem, row.judge_against_baseline_problem]
    .filter(Boolean).map((why) => `${where(row)}: ${why}`));
  const skipped = (results.skipped ?? []).map((why) => typeof why === "string" ? why : JSON.stringify(why));
  const listed = (title, lines) => lines.length === 0 ? [] : [folded(`${title}: ${lines.length}`, element("ul", {},
    lines.slice(0, kMostLines).map((line) => element("li", {}, line)),
    lines.length > kMostLines ? element("li", {}, `and ${lines.length - kMostLines} more, in results.json`) : null))];
  const seen = results.training_overlap;
  const overlap = ({exact, normalised, none}) => `In the training data stand ${exact} turns word for word, ${normalised} ` +
    `but for case and punctuation, ${none} not at all.`;
  const parts = [
    ...listed("Turns that failed, left out of every method", failed), ...listed("Not judged, and in no mean", unjudged),
    ...listed("Rows of the set that are no turns", skipped), ...heard ? [element("p", {}, heard)] : [],
    ...seen ? [element("p", {}, overlap(seen))] : []
  ];
  return parts.length ? element("div", {class: failed.length ? "alarm" : "alarm mild"}, parts) : null;
}
