// The page about an evaluation, drawn from {results: results.json, tables: of each run, heard, num_answered}.

// Turns with timelines by why they were chosen, the typical one first.
function chosenTurns(run) {
  const turns = new Map(run.timelines.map((timeline) => [timeline.why, timeline.turn]));
  return ["typical", "best", "worst"].filter((why) => turns.has(why)).map((why) => [why, turns.get(why)]);
}

// Names of a run's pictures: those of the second one end in _run2.
const ofRun = (figure, i) => ({...figure, name: i === 0 ? figure.name : `${figure.name}_run${i + 1}`});

// The first run has the picture of all runs, too. What does not apply is left out.
function charts(runs, i) {
  const make = [
    speedUpFigure, passesFigure, tradeOffFigure, waterfallFigure, wasteFigure, roundsFigure, topKQualityFigure,
    topKSpeedFigure, lengthFigure, revisionFigure
  ];
  const figures = [...i === 0 ? [runsFigure(runs)] : [], ...make.map((one) => one(runs[i]))];
  return element(
    "div", {class: "charts"},
    figures.filter(Boolean).map((figure) => figureElement(ofRun(figure, i))));
}

function timelines(run, i) {
  const chosen = chosenTurns(run);
  if (!chosen.length) return [figureElement(timelineFigure(run, null, "typical"))];
  return [
    element(
      "p", {class: "soft"},
      `Of the first twenty turns of the set those in which ${run.timelines[0].against ?? ""} saves the ` +
        "median time, the most and the least. A filled draft was kept by the verification that followed; a pale one " +
        "was computed in vain."),
    ...chosen.map(
      ([why, turn]) => element(
        "div", {class: "timeline"}, figureElement(ofRun(timelineFigure(run, turn, why), i)), draftTables(run, turn)))
  ];
}

function runParts(runs, i) {
  const run = runs[i], id = (name) => i === 0 ? name : null;  // anchors are those of the first run
  return [element("p", {class: "soft"}, run.tables.title), headlineTiles(run), ...paperTable(run, id("table1")),
    heading("Speed, quality and cost", id("figures")), charts(runs, i),
    heading("One turn, from the first word to the first sound", id("timelines")), ...timelines(run, i),
    ...methodTables(run.tables, id("methods")), ...groupTables(run.tables.groups, id("pays"))];
}

function head(results, runs, heard) {
  const count = (key) => new Set(runs.map((run) => run[key])).size;
  const anchors = [
    ["table1", "Summary"], ["figures", "Figures"], ["timelines", "One turn"], ["methods", "All methods"],
    ["pays", "Where it pays"], ["turns", "Turns"], ["settings", "Settings"]
  ];
  const links = runs.length ? anchors : anchors.slice(-1);
  return [
    element("h1", {}, results.set.name, element("small", {}, " · predgen eval")),
    element(
      "p", {class: "soft"},
      [
        plural(results.num_turns ?? 0, "turn"), plural(runs[0]?.methods.length ?? 0, "method"),
        plural(count("model"), "model"), `${plural(count("cost"), "cost")} of a pass`
      ].join(", ")),
    element("nav", {"aria-label": "On this page"}, links.map(([id, name]) => element("a", {href: `#${id}`}, name))),
    leftOut(results, heard)
  ];
}

function drawPage({results, tables, heard, num_answered: numAnswered}) {
  document.title = `${results.set.name} · predgen eval`;
  const runs = (results.runs ?? []).map((run, i) => new Run(results, run, tables[i]));
  const parts = runs.flatMap((run, i) => {
    const all = runParts(runs, i), name = element("summary", {}, `${run.model}, cost ${run.cost}`);
    return i === 0 ? all : [element("details", {class: "run"}, name, all)];
  });
  const turns = runs.length ? [heading("Turns", "turns"), ...turnsTable(runs[0], numAnswered)]
    : [element("p", {class: "missing"}, "No run is in these results.")];
  const settings = [
    heading("Settings", "settings"), folded("Configuration", element("pre", {}, results.config ?? "")),
    folded("Environment", element("pre", {}, JSON.stringify(results.environment ?? {}, null, 2)))
  ];
  fillPage([...head(results, runs, heard), ...parts, ...turns, ...settings]);
  addEventListener("beforeprint", () => {
    for (const run of document.querySelectorAll("details.run")) run.open = true;
  });
}

drawPage(readData());
