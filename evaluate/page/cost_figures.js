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
