"use strict";

// Draws when what happened in a turn: its events as marks on rows, with time 0 at the user's last word.
function drawWaterfall(svg, events, metrics) {
  const rows = [["transcript", "words"], ["draft", "drafts"], ["first_sentence", "sentence"], ["sound", "sound"],
                ["done", "answer"]];
  const width = 360, left = 62, right = 14, height = 26, top = 6;
  const rowOf = {transcript: 0, final: 0, draft: 1, first_sentence: 2, sound: 3, done: 4};
  const shown = events.filter((event) => event.kind in rowOf);
  if (metrics.lead_time > 0) shown.push({kind: "sound", time: -metrics.lead_time});  // ready, and held back
  if (metrics.audio_latency !== null) shown.push({kind: "sound", time: metrics.audio_latency});
  const begin = Math.min(0, ...shown.map((event) => event.time));
  const end = Math.max(0.05, ...shown.map((event) => event.time));
  const x = (time) => left + (time - begin) / (end - begin) * (width - left - right);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${top + rows.length * height + 20}`);
  const add = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    svg.append(node);
  };
  rows.forEach(([, label], row) => add("text", {x: 0, y: top + row * height + 16}, label));
  const bottom = top + rows.length * height;
  add("line", {x1: x(0), x2: x(0), y1: top, y2: bottom, "stroke-dasharray": "3 3"});
  for (const event of shown) {
    const row = rowOf[event.kind];
    const from = event.kind === "done" ? x(0) : x(event.time) - 2;
    add("rect", {x: from, y: top + row * height + 5, width: Math.max(4, x(event.time) - from + 2), height: 14,
      rx: 2, class: rows[row][0]});
  }
  const seconds = (time) => `${time.toFixed(2)} s`;
  add("text", {x: left, y: bottom + 15}, seconds(begin));
  add("text", {x: width - right, y: bottom + 15, "text-anchor": "end"}, seconds(end));
}
