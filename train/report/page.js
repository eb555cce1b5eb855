// The page about a training run, drawn from what run_report.h describes.

function duration(seconds) {
  if (seconds < 100) return `${fixed(seconds, 0)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function head(run) {
  const {mode, model, objective, max_steps: maxSteps, epochs} = run.head;
  const last = (tag) => run.series[tag]?.last ?? null;
  const seconds = last("train/seconds"), epoch = last("train/epoch");
  let where = `step ${withCommas(run.last_step)}`, share = 0;
  if (maxSteps > 0) {
    where += ` of ${withCommas(maxSteps)}`;
    share = run.last_step / maxSteps;
  } else if (epoch !== null && epochs > 0) {
    where += `, epoch ${fixed(epoch, 2)} of ${short(epochs)}`;
    share = epoch / epochs;
  }
  if (seconds !== null) where += ` · ${duration(seconds)} of training`;
  // True of a run that was stopped, too.
  if (seconds !== null && share > 0 && share < 0.995) {
    where += ` · about ${duration(seconds / share - seconds)} for the rest`;
  }
  const width = `${fixed(100 * Math.min(share, 1), 1)}%`;
  const progress = element("div", {class: "progress", role: "img", "aria-label": `${width} done`},
    element("div", {style: `width: ${width}`}));
  const alarm = element("p", {class: "alarm"}, element("strong", {}, "The model collapses."),
    " Its answers to the watched prompts repeat themselves more than before, or have become short: see the answers " +
    "below.");
  return [
    element("h1", {}, run.name),
    element(
      "p", {class: "soft"},
      `${mode === "lora" ? "LoRA" : "Full"} training of ${model}${objective ? `, objective ${objective}` : ""}`),
    element("p", {class: "soft"}, where),
    share > 0 ? progress : null,
    last("watch/collapsed") > 0 ? alarm : null
  ];
}

function tiles(run) {
  const found = [];
  const add = (name, tag, digits, {unit = "", scale = 1, note = ""} = {}) => {
    const value = run.series[tag]?.last ?? null;
    if (value !== null) found.push(tile(name, `${fixed(scale * value, digits)}${unit}`, note));
  };
  for (const name of lossNames(run)) add(`loss: ${name}`, `train/${name}`, 4);
  for (const name of namesBehind(run, "held_out/")) {
    const {lowest} = run.series[`held_out/${name}`];
    add(`held-out loss: ${name}`, `held_out/${name}`, 4,
      {note: lowest ? `lowest ${fixed(lowest.value, 4)} at step ${withCommas(lowest.step)}` : ""});
  }
  add("tokens a second", "train/tokens_per_second", 0);
  add("most memory", "memory/process_gib", 2, {unit: " GiB"});
  add("most GPU memory", "memory/gpu_gib", 2, {unit: " GiB"});
  add("tokens a pass", "watch/tokens_per_pass", 2);
  add("answers that repeat themselves", "watch/repetition", 0, {unit: " %", scale: 100});
  const outliers = run.skipped.filter((step) => step.outlier).length;
  found.push(
    tile("steps skipped", `${run.skipped.length}`, run.skipped.length ? `of which outliers: ${outliers}` : ""));
  return element("div", {class: "tiles"}, found);
}

// What the model answered to the watched prompts at first and last.
function answersTable({first_step: first, last_step: last, rows}) {
  const kPromptShown = 300,
        end = (text) => text.length <= kPromptShown ? text : `… ${[...text].slice(-kPromptShown).join("")}`;
  const shown = (text) => text === "" ? element("span", {class: "soft"}, "(nothing)") : text;
  const title = "What the model answers";
  return [
    element("h2", {}, title),
    scrolled(makeTable(
      title, ["prompt", `step ${withCommas(first)}`, `step ${withCommas(last)}`],
      rows.map(([prompt, one, other]) => [end(prompt), shown(one), shown(other)]), "answers"))
  ];
}

function settings({config, identity}) {
  const keys = Object.entries(identity);
  const same = [
    element(
      "p", {class: "soft"},
      "A checkpoint is resumed only where all of these are the same. Models and data are named by " +
        "hashes of their contents."),
    makeTable("What identifies the run", ["key", "value"], keys, "identity")
  ];
  return [element("h2", {}, "Settings"), folded("Configuration", element("pre", {}, config)),
    folded("What identifies the run", ...keys.length ? same : [element("p", {}, "No checkpoint yet.")])];
}

function drawPage(run) {
  document.title = `${run.name} · predgen train`;
  const answers = run.answers ? answersTable(run.answers) : [];
  fillPage([...head(run), tiles(run), runCharts(run), ...answers, ...settings(run)]);
}

drawPage(readData());
