// Curves of a training run. One pointer shows the values at its step in all of them.

// What is logged for a step besides losses.
const kNoLosses =
  ["learning_rate", "gradient_norm", "tokens_per_second", "epoch", "skipped_steps", "outlier_steps", "seconds"];
const kMostDots = 40;  // of a line that has dots

// Names behind `prefix` in tags of metrics.jsonl.
const namesBehind = (run, prefix) =>
  Object.keys(run.series).filter((tag) => tag.startsWith(prefix)).map((tag) => tag.slice(prefix.length));

const lossNames = (run) => namesBehind(run, "train/").filter((name) => !kNoLosses.includes(name));

// `scale`: 100 for shares that are shown in percent. Null: nothing was logged.
function curve(run, name, tag, scale = 1) {
  const points = run.series[tag]?.points ?? [];
  if (!points.length) return null;
  const hasBand = points[0].length > 2;
  return {meaning: name, hasBand, hasDots: points.length <= kMostDots, points: points.map(([x, mean, low, high]) =>
    ({x, y: scale * mean, ...hasBand ? {low: scale * low, high: scale * high} : {}}))};
}

// Marks and legend of steps that did not move the weights.
function skippedMarks(skipped) {
  const kinds = [[true, "outlier", "outlier", "outlier"], [false, "infinite", "not finite", "gradient not finite"]];
  const found = kinds
                  .map(
                    ([isOutlier, classes, meaning, why]) =>
                      ({classes, meaning, why, steps: skipped.filter((step) => step.outlier === isOutlier)}))
                  .filter(({steps}) => steps.length);
  return {
    marks: found.flatMap(
      ({classes, why, steps}) => steps.map(({step}) => ({x: step, classes, title: `step ${step} skipped: ${why}`}))),
    legend: found.map(({classes, meaning}) => [classes, `skipped: ${meaning}`]),
  };
}

function chartsOf(run) {
  const line = (...arguments_) => curve(run, ...arguments_);
  const losses = [...lossNames(run).map((name) => line(name, `train/${name}`)),
    ...namesBehind(run, "held_out/").map((name) => line(`${name}, held out`, `held_out/${name}`))];
  return [
    {name: "loss", title: "Loss, nats per token", lines: losses, hasSkipped: true, yFromZero: false},
    {
      name: "gradient_norm",
      title: "Gradient norm, before clipping",
      lines: [line("gradient norm", "train/gradient_norm")],
      mayBeLog: true,
      hasSkipped: true,
      yFromZero: false
    },
    {name: "learning_rate", title: "Learning rate", lines: [line("learning rate", "train/learning_rate")]},
    {name: "speed", title: "Speed, tokens per second", lines: [line("all ranks", "train/tokens_per_second")]},
    {
      name: "memory",
      title: "Most memory of a rank so far, GiB",
      lines: [line("process", "memory/process_gib"), line("GPU", "memory/gpu_gib")]
    },
    {
      name: "tokens_per_pass",
      title: "Watch: tokens per forward pass",
      lines: [line("Jacobi decoding", "watch/tokens_per_pass")]
    },
    {
      name: "answers",
      title: "Watch: answers, %",
      lines: [
        line("repeat themselves", "watch/repetition", 100), line("text as at the start", "watch/start_agreement", 100),
        line("Jacobi text as greedy text", "watch/jacobi_agreement", 100)
      ]
    },
    {name: "answer_tokens", title: "Watch: tokens per answer", lines: [line("greedy decoding", "watch/answer_tokens")]},
  ].map((chart) => ({...chart, lines: chart.lines.filter((one) => one !== null)}))
    .filter((chart) => chart.lines.length);
}

// The steps go from 0 to the last one.
function plotOf(run, {lines, hasSkipped = false, yFromZero = true, mayBeLog = false}) {
  const colours = lines.map((_, i) => `s${Math.min(i, 5)}`), skipped = skippedMarks(hasSkipped ? run.skipped : []);
  return {
    xAxis: "step",
    xTicks: roundTicks(0, run.last_step, Math.min(run.last_step, 7)),
    xEnd: run.last_step,
    yFromZero,
    mayBeLog,
    lines: lines.map((line, i) => ({...line, classes: colours[i]})),
    marks: skipped.marks,
    legend: [...lines.map((line, i) => [colours[i], line.meaning]), ...skipped.legend]
  };
}

const nearest = (points, step) =>
  points.reduce((best, point) => Math.abs(point.x - step) < Math.abs(best.x - step) ? point : best);

// A cursor at the step under the pointer, in all the charts that were followed, and beside it the values of the chart
// below it.
class StepCursor {
  constructor(lastStep) {
    this.lastStep = lastStep;
    this.charts = new Map();
  }

  follow(svg, holder, plot) {
    const {width, height} = svg.viewBox.baseVal, [left, right] = plotEdges(plot, width);
    const line = svgElement("path", {class: "cursor", d: `M0 0V${height - 42}`});
    svg.append(line);
    const box = element("output");
    holder.append(box);
    this.charts.set(holder, {svg, line, box, plot, left, right, width});
    svg.addEventListener("pointermove", (event) => {
      const place = svg.getBoundingClientRect(), x = (event.clientX - place.left) / place.width * width;
      const share = (x - left) / (right - left);
      if (share < 0 || share > 1) this.hide();
      else this.show(share, svg);
    });
    svg.addEventListener("pointerleave", () => this.hide());
  }

  show(share, here) {
    const step = share * this.lastStep;
    for (const {svg, line, box, plot, left, right, width} of this.charts.values()) {
      const at = left + share * (right - left);
      line.setAttribute("transform", `translate(${at} 0)`);
      line.style.visibility = "visible";
      box.style.visibility = svg === here ? "visible" : "hidden";
      if (svg !== here) continue;
      box.textContent = plot.lines.map(({meaning, points}) => {
        const {x, y} = nearest(points, step);
        return `${meaning}  ${short(y)}  (step ${Math.round(x)})`;
      }).join("\n");
      const pixels = at / width * svg.clientWidth;
      box.style.left = share < 0.5 ? `${pixels + 12}px` : "auto";
      box.style.right = share < 0.5 ? "auto" : `${svg.clientWidth - pixels + 12}px`;
    }
  }

  hide() {
    for (const {line, box} of this.charts.values()) line.style.visibility = box.style.visibility = "hidden";
  }
}

// Every chart that has values; none before the first step.
function runCharts(run) {
  if (run.last_step < 1) return element("div", {class: "charts"});
  const cursor = new StepCursor(run.last_step);
  return element("div", {class: "charts"}, chartsOf(run).map((chart) => {
    const plot = plotOf(run, chart), figure = plotFigure({name: chart.name, title: chart.title}, plot);
    return figureElement({...figure, onDrawn: (svg, holder) => cursor.follow(svg, holder, plot)});
  }));
}
