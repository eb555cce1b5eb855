const kOfThePaper = ["baseline", "greedy", "top3", "reflection", "cllm"];

// "1.73×", and above 20 "> 20×": the ratio to nearly nothing says nothing.
const times = (ratio, digits) => !isNumber(ratio) ? "–" : ratio > 20 ? "> 20×" : `${ratio.toFixed(digits)}×`;

// An Estimate {value, low, high} in other units; null stays null.
function scaled(estimate, factor) {
  if (!isNumber(estimate?.value)) return null;
  const {value, low, high} = estimate;
  return {value: factor * value, low: factor * (low ?? value), high: factor * (high ?? value)};
}

// One of a report's runs: `run` of results.json, `tables` that C++ has made of it, and its rows.
class Run {
  constructor(results, run, tables) {
    Object.assign(this, {results, run, tables});
    const folder = run.model ?? "";
    this.model = folder.split("/").pop() || folder;
    this.cost = run.cost?.name ?? "";
    this.methods = Object.keys(run.methods ?? {});
    this.timelines = run.timelines ?? [];
    this.rows = (results.turns ?? []).filter((row) => (row.model ?? "") === folder && (row.cost ?? "") === this.cost);
  }

  // The few methods of pictures with a line for each: the paper's before others, in the order of `methods`.
  shown(most = 6) {
    const chosen = [...kOfThePaper.filter((name) => this.methods.includes(name)), ...this.methods];
    const first = [...new Set(chosen)].slice(0, most);
    return this.methods.filter((name) => first.includes(name));
  }

  // "base" for the baseline, "s0" .. for the others of shown().
  colour(method) {
    if (this.isBaseline(method)) return "base";
    const others = this.shown().filter((name) => !this.isBaseline(name));
    const place = others.indexOf(method);
    return `s${Math.min(place < 0 ? others.length : place, 5)}`;
  }

  method(name) {
    return this.run.methods?.[name] ?? {};
  }

  comparison(name) {
    return this.run.comparisons?.[name] ?? {};
  }

  isBaseline(method) {
    return method === "baseline" || method.startsWith("baseline+");
  }

  // Whether all texts are the baseline's; null: it was not in the run.
  keepsTexts(method) {
    if (this.isBaseline(method)) return true;
    const changed = this.comparison(method).changed_text?.share;
    return isNumber(changed) ? changed === 0 : null;
  }

  // The mean in ms, with its interval; null if the method has none.
  latency(method) {
    return scaled(this.method(method).intervals?.audio_latency, 1e3);
  }

  // By how many ms the method's first sound comes before its baseline's, on average; null: nothing to compare.
  msSooner(method) {
    const sooner = this.method(method).sooner;
    if (!sooner || this.isBaseline(method)) return null;
    return scaled({...sooner, value: sooner.seconds}, 1e3);
  }
}

const percentOf = (share) => share && isNumber(share.low) ? scaled({...share, value: share.share}, 100) : null;

// The measure that stands for the quality of answers, the best that the run has; null: it has none.
//   name: with the unit, for an axis; short: for a column; digits behind the point; isOfAnswers: otherwise a difference
//   may be for better or worse; of(method): {value, low, high}, or null
function qualityMeasure(run) {
  const judge = run.results.environment?.judge?.model || "the judge";
  const isCompared = run.methods.some((method) => run.comparison(method).changed_text);
  const unchanged = (method) => {
    if (run.isBaseline(method) && isCompared) return {value: 100, low: 100, high: 100};
    const changed = percentOf(run.comparison(method).changed_text);
    return changed && {value: 100 - changed.value, low: 100 - changed.high, high: 100 - changed.low};
  };
  const measures = [
    {name: `Grade by ${judge}, 1 to 10`, short: "grade", digits: 2, isOfAnswers: true,
      of: (method) => scaled(run.method(method).intervals?.judge_grade, 1)},
    {name: "Right answers, %", short: "accuracy %", digits: 1, isOfAnswers: true,
      of: (method) => percentOf(run.method(method).accuracy)},
    {name: "Names and numbers that answers repeat, %", short: "repeats %", digits: 1, isOfAnswers: true,
      of: (method) => scaled(run.method(method).intervals?.share_of_values_repeated, 100)},
    {name: "Texts that are the baseline's, %", short: "same text %", digits: 1, isOfAnswers: false, of: unchanged},
  ];
  return measures.find((measure) => run.methods.some((method) => measure.of(method))) ?? null;
}
