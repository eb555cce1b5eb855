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
