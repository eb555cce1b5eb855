// Speed, passes and quality of all methods.

const colourByTexts = (run, method) => run.isBaseline(method) ? "base" : run.keepsTexts(method) ? "s0" : "s1";

// The colours that occur.
function legendByTexts(run) {
  const meanings = [["s0", "all texts are the baseline's"], ["s1", "some texts differ"]];
  return meanings.filter(([colour]) => run.methods.some((method) => colourByTexts(run, method) === colour));
}

// What each method saves, the most first. `savedBy(method)`: {value, low, high}, or null.
function savingFigure(figure, run, axis, reference, savedBy, digits, unit) {
  const rows = run.methods.map((method) => ({method, saved: savedBy(method)}))
                 .filter(({saved}) => saved)
                 .map(({method, saved}) => ({
                        label: method,
                        classes: colourByTexts(run, method),
                        ...saved,
                        text: `${fixed(saved.value, digits)}${unit}`,
                        more: `${fixed(saved.low, digits)}–${fixed(saved.high, digits)}`
                      }));
  if (!rows.length) return null;
  rows.sort((one, other) => other.value - one.value);
  return rowFigure(figure, {rows, axis, reference, legend: legendByTexts(run)});
}

function speedUpFigure(run) {
  return savingFigure({name: "speed_up", title: "How much sooner the first sound comes, with 95 % intervals",
    note: "Mean over the turns. Intervals by 2,000 bootstrap resamples."},
  run, "ms sooner than the baseline", 0, (method) => run.msSooner(method), 0, " ms");
}

function passesFigure(run) {
  const savedBy = (method) => {
    const saving = run.comparison(method).nfe_saving_paper;
    return saving && [saving.ratio, saving.low, saving.high].every(isNumber)
      ? {value: saving.ratio, low: saving.low, high: saving.high}
      : null;
  };
  return savingFigure(
    {
      name: "passes",
      title: "Fewer forward passes to the first sentence (NFE)",
      note:
        "After the last word, at least one pass a turn, as the paper counts; passes of a draft model by their cost."
    },
    run, "times fewer than the baseline", 1, savedBy, 2, "×");
}

function tradeOffFigure(run) {
  const figure = {name: "trade_off", title: "Speed against quality, all methods",
    note: "Better is further left and further up. Bars are 95 % intervals of the quality."};
  const measure = qualityMeasure(run);
  if (!measure) return null;
  const lines = run.methods.map((method) => ({method, latency: run.latency(method), quality: measure.of(method)}))
    .filter(({latency, quality}) => latency && quality)
    .map(({method, latency, quality}) => ({classes: colourByTexts(run, method), isJoined: false, points: [{
      x: latency.value, y: quality.value, low: quality.low, high: quality.high, label: method,
      title: `${method}: ${fixed(latency.value, 0)} ms, ${fixed(quality.value, 2)}`}]}));
  if (lines.length < 2) return null;
  return plotFigure(
    figure,
    {xAxis: "mean audio latency, ms", yAxis: measure.name, lines, yFromZero: false, legend: legendByTexts(run)});
}

// Of methods that are top-k alone, and greedy, which is k = 1.
function topKFigure(figure, run, yAxis, yFromZero, valueOf, digits) {
  const kOf = (method) => {
    const k = run.method(method).top_k;
    return method === "greedy" ? 1 : method === `top${k}` ? k : null;
  };
  const points = run.methods.map((method) => ({k: kOf(method), value: valueOf(method)}))
    .filter(({k, value}) => k !== null && value).sort((one, other) => one.k - other.k)
    .map(({k, value}) => ({x: k, y: value.value, low: value.low, high: value.high, label: fixed(value.value, digits),
      title: `k = ${k}: ${short(value.value)}`}));
  if (points.length < 2) return null;
  return plotFigure(figure, {xAxis: "k of top-k verification (1: greedy)", yAxis, lines: [{points}],
    xTicks: points.map((point) => point.x), xFromZero: false, yFromZero});
}

const kFigure4 = "The paper's Figure 4. Bars are 95 % intervals.";

function topKQualityFigure(run) {
  const figure = {name: "top_k_quality", title: "Quality against k", note: kFigure4};
  const measure = qualityMeasure(run);
  if (!measure) return null;
  return topKFigure(figure, run, measure.name, false, measure.of, measure.digits);
}

function topKSpeedFigure(run) {
  return topKFigure(
    {name: "top_k_speed", title: "Audio latency against k", note: kFigure4}, run, "mean audio latency, ms", true,
    (method) => run.latency(method), 0);
}

// Audio latency of all runs of a report, by model and cost.
function runsFigure(runs) {
  const byModel = new Set(runs.map((run) => run.run.model)).size > 1,
        byCost = new Set(runs.map((run) => run.cost)).size > 1;
  const figure = {
    name: "models",
    title: byModel ? "Audio latency by model" : "Audio latency by cost of a pass",
    note: byModel ? "The paper's Figure 3a. Bars are 95 % intervals."
                  : "What a pass is taken to cost; each is a run of its own."
  };
  if (runs.length < 2) return null;
  const rowsOf = (run) => {
    const label = [byModel ? run.model : run.cost, ...byModel && byCost ? [run.cost] : []].join(", ");
    const rows = [{label}];
    let baseline = null;
    for (const method of run.shown()) {
      const latency = run.latency(method);
      if (!latency) continue;
      const isOther = baseline !== null && !run.isBaseline(method) && latency.value > 0;
      if (run.isBaseline(method)) baseline = latency.value;
      rows.push({label: method, classes: run.colour(method), ...latency, text: `${fixed(latency.value, 0)} ms`,
        more: isOther ? times(baseline / latency.value, 2) : ""});
    }
    return rows;
  };
  return rowFigure(figure, {rows: runs.flatMap(rowsOf), axis: "mean audio latency, ms"});
}

// Where the time goes, what is drafted in vain, and for which turns a method pays.

const kParts = [["pass_under_way", "base fill", "a pass still running"],
  ["first_pass", "s0 fill", "first pass: reads the prompt, verifies the draft"],
  ["rest_of_sentence", "s0 half", "rest of the first sentence"],
  ["speech", "s4 fill", "speech to its first sample"]];

function waterfallFigure(run) {
  const figure = {name: "waterfall", title: "Where the time to the first sound goes",
    note: "A first sentence that was kept whole with its sound ready costs the first pass alone."};
  const rows = run.methods.filter((method) => run.method(method).latency_parts).map((method) => {
    const parts = kParts.map(([key]) => 1e3 * run.method(method).latency_parts[key]);
    return {label: method, parts, text: `${fixed(barLength({parts}), 0)} ms`};
  });
  if (!rows.length) return null;
  return stackFigure(
    figure,
    {parts: kParts.map(([, classes, meaning]) => [classes, meaning]), rows, axis: "mean ms after the last word"});
}

function wasteFigure(run) {
  const figure = {name: "waste", title: "Drafted tokens a turn, and what became of them",
    note: "What speculation costs: computed while the user speaks, and thrown away where the words took another turn."};
  const mean = (method, key) => run.method(method)[key]?.mean;
  const rows =
    run.methods
      .filter((method) => mean(method, "spec_tokens_drafted") > 0 && isNumber(mean(method, "spec_tokens_accepted")))
      .map((method) => {
        const drafted = mean(method, "spec_tokens_drafted"), kept = mean(method, "spec_tokens_accepted");
        const wasted = fixed(100 * (drafted - kept) / drafted, 0),
              ahead = fixed(mean(method, "speculative_nfe") ?? 0, 0);
        return {label: method, parts: [kept, drafted - kept], text: `${wasted} % wasted, ${ahead} passes ahead`};
      });
  if (!rows.length) return null;
  return stackFigure(
    figure, {parts: [["s2 fill", "in the answer"], ["s1 pale", "wasted"]], rows, axis: "tokens a turn, mean"});
}

// How many passes the turns took, by the turn's number in its conversation.
function roundsFigure(run) {
  const shown = run.shown(5), rounds = run.run.rounds ?? [];
  const figure = {name: "rounds", title: "Forward passes to the first sentence, by the user's turn, % of turns",
    note: "The paper's Figure 3b. One pass: the draft's first sentence was kept whole, and can be heard at once." +
      (shown.length < run.methods.length ? " A few of the methods." : "")};
  if (rounds.length < 2) return null;
  const counted = rounds.flatMap(({methods}) => shown.map((method) => methods[method])).find(Boolean);
  const names = Object.keys(counted?.passes ?? {}), classes = ["s2 fill", "s0 fill", "s0 half", "base pale"];
  const rows = rounds.flatMap(({round, methods}) => [{label: `Turn ${round} of the conversation`},
    ...shown.filter((method) => methods[method]).map((method) => ({label: method,
      parts: names.map((name) => 100 * methods[method].passes[name]),
      text: `mean ${fixed(methods[method].mean, 1)}, n = ${methods[method].n}`}))]);
  return stackFigure(
    figure, {parts: names.map((name, i) => [classes[i], name]), rows, axis: "% of turns", whole: 100, unit: " %"});
}

// TTFS of a few methods by group of turns, as "ttfs_by" of results.json has them.
function groupsFigure(figure, run, groups, xAxis) {
  const shown = run.shown(4);
  const lines = shown.map(
    (method, m) => ({
      classes: run.colour(method),
      name: method,
      points:
        groups.map((group, g) => ({g, ms: scaled(group.methods[method], 1e3)}))
          .filter(({ms}) => ms)
          .map(({g, ms}) => ({
                 x: g + 0.07 * (m - (shown.length - 1) / 2),  // side by side, so that intervals do not cover each other
                 y: ms.value,
                 low: ms.low,
                 high: ms.high,
                 title: `${method}: ${fixed(ms.value, 0)} ms (${fixed(ms.low, 0)}–${fixed(ms.high, 0)})`
               }))
    }));
  if (!lines.some((line) => line.points.length)) return null;
  return plotFigure({...figure, note: "Means with 95 % intervals, a few of the methods."},
    {xAxis, yAxis: "mean TTFS, ms", lines, categories: groups.map(({group, n}) => [group, `n = ${n}`])});
}

function lengthFigure(run) {
  const figure = {name: "input_length", title: "Time to the first sentence by length of the input"};
  const groups = run.run.ttfs_by?.words ?? [];
  if (!groups.length) return null;
  return groupsFigure(figure, run, groups, "words of the user's turn");
}

function revisionFigure(run) {
  const figure = {name: "revised_words", title: "Time to the first sentence by share of words that were taken back"};
  const groups = run.run.ttfs_by?.revised_share ?? [];
  if (!groups.length) return null;
  return groupsFigure(figure, run, groups, "words that a later transcript took back");
}
