// A turn from the first word to the first sound, by every method.

// Whole characters that both begin with.
function commonStart(one, other) {
  let same = 0;
  while (same < one.length && one[same] === other[same]) ++same;
  const isInside = (text) =>
    same < text.length && (text.charCodeAt(same) & 0xfc00) === 0xdc00;  // half of a surrogate pair
  return isInside(one) || isInside(other) ? same - 1 : same;
}

// What a method did in a turn, from the events [seconds, kind, text] of results.json:
//   heard: [[seconds, text]], transcripts with the final one; lastWord; answer
//   drafts: [{begin, end, heard, text, kept}], from when the model saw the words until the draft had its length;
//     `kept`: how many of its characters the next verification kept
//   firstSentence, sound: when it was confirmed, and heard, or null
//   readyAhead: when the sound was ready, if that was before the last word, else null
function readTimeline(run, {method, turn, events = []}) {
  const read =
    {method, heard: [], lastWord: 0, drafts: [], firstSentence: null, sound: null, readyAhead: null, answer: ""};
  let freeFrom = 0;  // when the model had finished the draft before
  for (const [time, kind, text] of events) {
    const [seen, heard] = read.heard.at(-1) ?? [0, ""];
    if (kind === "transcript" || kind === "final") {
      read.heard.push([time, text]);
      read.lastWord = time;
    } else if (kind === "draft") {
      read.drafts.push({begin: Math.max(seen, freeFrom), end: time, heard, text});
      freeFrom = time;
    } else if (kind === "first_sentence") {
      read.firstSentence = time;
    } else if (kind === "done") {
      read.answer = text;
    }
  }
  read.drafts.forEach((draft, i) => { draft.kept = commonStart(draft.text, read.drafts[i + 1]?.text ?? read.answer); });
  const row = run.rows.find((one) => one.method === method && one.turn === turn) ?? {};
  if (isNumber(row.audio_latency)) read.sound = read.lastWord + row.audio_latency;
  if (row.lead_time > 0) read.readyAhead = read.lastWord - row.lead_time;
  return read;
}

// Of the methods that are shown, in their order.
function timelinesOf(run, turn) {
  const shown = run.shown();
  return run.timelines.filter((one) => one.turn === turn && shown.includes(one.method))
    .map((one) => readTimeline(run, one));
}

// What a transcript adds to the one before, in two lines of words where they were heard.
function drawWords(canvas, {heard}, x, left, top) {
  const taken = [left, left];  // ends of the two lines
  let before = "";
  for (const [time, text] of heard) {
    const same = commonStart(before, text), isRevised = same < before.length;
    const added = text.slice(same).trimStart(), at = x.place(time), width = (isRevised ? 1.12 : 1) * textWidth(added);
    canvas.line(at, top + 30, at, top + 38, isRevised ? "s1 whisker" : "base whisker");
    for (const line of added ? [1, 0] : []) {
      const begin = Math.max(at - width / 2, taken[line]);
      if (begin > at || begin + width > canvas.width) continue;
      canvas.text(begin, top + 11 + 14 * line, added, "start", isRevised ? "dark strong" : "dark");
      taken[line] = begin + width + 7;
      break;
    }
    before = text;
  }
}

function drawLane(canvas, timeline, x, left, y) {
  const {method, drafts, lastWord, firstSentence, sound, readyAhead} = timeline, bar = 16;
  canvas.text(0, y + 12, cutToWidth(method, left - 6), "start", "strong");
  canvas.text(0, y + 27, sound === null ? "no sound" : `${fixed(1e3 * (sound - lastWord), 0)} ms`);
  drafts.forEach((draft, i) => {
    const begin = x.place(draft.begin), end = Math.max(x.place(draft.end), begin + 1.5);
    const middle = begin + (draft.text ? draft.kept / draft.text.length : 0) * (end - begin);
    const title = `draft ${i + 1}, ${fixed(draft.end, 2)} s: ${draft.text}`;
    canvas.rect(begin, y, Math.max(middle - begin - 0.5, 0), bar, "s2 fill", title);
    canvas.rect(middle, y, Math.max(end - middle - 0.7, 0), bar, "s1 pale", title);
  });
  if (readyAhead !== null) {
    canvas.path(`M${x.place(readyAhead).toFixed(1)} ${(y + bar + 2).toFixed(1)}l-5 9h10z`, "s4 fill");
  }
  const spoken = x.place(lastWord), sentence = x.place(firstSentence ?? lastWord);
  canvas.rect(spoken, y, Math.max(sentence - spoken, 1.5), bar, "s0 fill", "from the last word to the first sentence");
  if (sound === null) return;
  canvas.rect(sentence, y, Math.max(x.place(sound) - sentence, 0), bar, "s4 pale", "speech to its first sample");
  canvas.dot(x.place(sound), y + bar / 2, "s4 fill", "the first sound");
}

function drawTimeline(timelines, width, label) {
  const canvas = new Canvas(width), lane = 40;
  const left = labelRoom(["user", ...timelines.map((one) => one.method)], width) + 4, right = width - 12;
  const top = 4 + canvas.legend([
    ["s2 fill", "draft: kept by the next verification"], ["s1 pale", "draft: rejected"],
    ["s0 fill", "to the first sentence"], ["s4 pale", "to the first sound"],
    ["s4 fill", "sound ready (▲ before the last word)"]
  ]);
  const lanes = top + 44, bottom = lanes + lane * timelines.length + 4;
  const end = Math.max(0.1, ...timelines.flatMap((one) => [one.lastWord, one.sound ?? 0, one.firstSentence ?? 0]));
  const x = new Axis(0, 1.02 * end, left, right), [{lastWord}] = timelines;
  canvas.ticks(x, left, right, top + 34, bottom, "seconds since the user began");
  canvas.line(left, bottom, right, bottom, "axis");
  canvas.text(0, top + 36, "user", "start", "strong");
  drawWords(canvas, timelines[0], x, left, top);
  canvas.line(x.place(lastWord), top + 26, x.place(lastWord), bottom, "zero");
  timelines.forEach((timeline, i) => drawLane(canvas, timeline, x, left, lanes + 6 + lane * i));
  return canvas.finish(bottom + 40, label);
}

// `why`: the turn was chosen: typical, best or worst.
function timelineFigure(run, turn, why) {
  const figure = {name: `timeline_${why}`, title: "A turn from the first word to the first sound", isWide: true};
  const timelines = timelinesOf(run, turn).filter((one) => one.heard.length);
  if (!timelines.length) return {...figure, missing: "is not here: the results hold no trace of a turn."};
  const saves = {typical: "the median", best: "most", worst: "least"}[why];
  figure.title = `Turn ${turn}, in which ${run.timelines[0].against ?? ""} saves ${saves}`;
  const {heard} = timelines[0];
  if (heard.some(([, text], i) => i > 0 && commonStart(heard[i - 1][1], text) < heard[i - 1][1].length)) {
    figure.note = "Bold, with a coloured tick: a transcript that took earlier words back.";
  }
  const seconds = (value) => value === null ? "–" : fixed(value, 2);
  return {
    ...figure,
    draw: (width) => drawTimeline(timelines, width, figure.title),
    table: () => ({
      head: ["", "last word, s", "drafts", "first sentence, s", "first sound, s"],
      rows: timelines.map(
        (one) => [one.method, seconds(one.lastWord), one.drafts.length, seconds(one.firstSentence), seconds(one.sound)])
    })
  };
}

// Below a turn's timeline: what was heard and drafted, kept parts marked; null: nothing was.
function draftTables(run, turn) {
  const tables = timelinesOf(run, turn).filter((one) => one.drafts.length).flatMap((one) => {
    const rows = one.drafts.map(
      ({end, heard, text, kept}) =>
        [`${fixed(end, 2)} s`, heard,
         element(
           "span", {}, kept > 0 ? element("span", {class: "kept"}, text.slice(0, kept)) : null,
           kept < text.length ? element("s", {}, text.slice(kept)) : null)]);
    rows.push([`${fixed(one.lastWord, 2)} s`, one.heard.at(-1)?.[1] ?? "", element("b", {}, one.answer)]);
    const head = ["ready at", "heard so far", element("span", {}, "draft: ",
      element("span", {class: "kept"}, "kept by the next verification"), ", ", element("s", {}, "rejected"))];
    return [element("h4", {}, one.method), scrolled(makeTable(`Drafts of ${one.method}`, head, rows, "drafts"))];
  });
  return tables.length ? folded("What was heard, drafted and kept, word for word", ...tables) : null;
}
