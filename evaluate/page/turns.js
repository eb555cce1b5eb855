// Every turn with its texts.

// Words with the white space before them; runs of ASCII's alone separate words.
const piecesOf = (text) => text.match(/[ \t\r\n\v\f]*[^ \t\r\n\v\f]+|[ \t\r\n\v\f]+$/g) ?? [];

// Which of `text`'s pieces are in a longest common subsequence with `reference`. Texts of thousands of words are
// compared by their common beginning and end alone.
function commonPieces(reference, text) {
  const common = new Array(text.length).fill(false), kMostCells = 4e6;
  let begin = 0, tail = 0;
  const shorter = Math.min(reference.length, text.length);
  while (begin < shorter && reference[begin] === text[begin]) common[begin++] = true;
  while (tail < shorter - begin && reference.at(-1 - tail) === text.at(-1 - tail)) common[text.length - ++tail] = true;
  const rows = reference.length - tail - begin, columns = text.length - tail - begin;
  if (rows === 0 || columns === 0 || rows > kMostCells / columns) return common;
  const isSame = (i, j) => reference[begin + i] === text[begin + j], at = (i, j) => i * (columns + 1) + j;
  const length = new Uint16Array((rows + 1) * (columns + 1));  // of what follows both places
  for (let i = rows - 1; i >= 0; --i) {
    for (let j = columns - 1; j >= 0; --j) {
      length[at(i, j)] =
        isSame(i, j) ? length[at(i + 1, j + 1)] + 1 : Math.max(length[at(i + 1, j)], length[at(i, j + 1)]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (isSame(i, j)) {
      common[begin + j] = true;
      ++i, ++j;
    } else if (length[at(i + 1, j)] >= length[at(i, j + 1)]) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

// `text` in parts, texts and elements: words that `reference` lacks are marked.
function markDifference(reference, text) {
  const pieces = piecesOf(text), common = commonPieces(piecesOf(reference), pieces), parts = [];
  pieces.forEach((piece, i) => {
    if (i > 0 && common[i] === common[i - 1]) parts[parts.length - 1].text += piece;
    else parts.push({isCommon: common[i], text: piece});
  });
  return parts.map((part) => part.isCommon ? part.text : element("mark", {}, part.text));
}

// What a judge or a right answer says of a row.
function verdict(row) {
  const words = [];
  if (typeof row.correct === "boolean") words.push(row.correct ? "right" : "wrong");
  if (isNumber(row.judge_grade)) words.push(`${short(row.judge_grade)}/10`);
  if (row.judge_grade_problem || row.judge_against_baseline_problem) words.push("not judged");
  return words.map((word) => ` ${word}`).join("");
}

// `rows`: of a turn, by method. Each text stands once, the first method's first.
function textsCell(run, rows, isOpen) {
  const answers = new Map();
  for (const method of run.methods.filter((name) => rows.has(name))) {
    const text = rows.get(method).text ?? "";
    answers.set(text, [...answers.get(text) ?? [], method]);
  }
  const [first] = answers.keys(), count = answers.size;
  const list = element("dl", {}, [...answers].flatMap(([text, methods]) => [
    element("dt", {}, methods.join(", ") + verdict(rows.get(methods[0]))),
    element("dd", {}, text === "" ? element("i", {}, "(nothing)") : markDifference(first, text))]));
  return element("td", {"data-sort": count - 1}, element("details", {open: isOpen ? "" : null},
    element("summary", {}, count === 1 ? "one text" : element("mark", {}, `${count} texts`)), list));
}

function turnLine(run, turn, rows, columns, isOpen) {
  const [any] = rows.values(), isSeen = any.in_training_data && any.in_training_data !== "none";
  const small = (text) => [element("br"), element("small", {}, text)];
  return element(
    "tr", {},
    element(
      "th", {scope: "row", "data-sort": turn}, `${turn}`, any.category ? small(any.category) : [],
      isSeen ? small("seen in training") : []),
    element("td", {class: "prompt"}, any.prompt ?? ""), columns.map((method) => {
      const ttfs = rows.get(method)?.ttfs;
      return element(
        "td", {class: "number", "data-sort": isNumber(ttfs) ? ttfs : null},
        fixed(isNumber(ttfs) ? 1e3 * ttfs : null, 0));
    }),
    textsCell(run, rows, isOpen));
}

// Of the first run. `numAnswered`: how many turns it has; the page may hold fewer.
function turnsTable(run, numAnswered) {
  const kMostColumns = 4, kMostTurns = 500, kFewTurns = 5;  // answers of few turns are shown at once
  const turns = new Map();
  for (const row of run.rows) {
    if (!turns.has(row.turn)) turns.set(row.turn, new Map());
    turns.get(row.turn).set(row.method, row);
  }
  if (!turns.size) {
    return [element("p", {class: "missing"}, element("b", {}, "Turns"), " are not here: none was answered.")];
  }
  const columns = run.shown(kMostColumns),
        shown = [...turns].sort(([one], [other]) => one - other).slice(0, kMostTurns);
  const heads = [
    element("th", {scope: "col"}, "turn"), element("th", {scope: "col"}, "prompt"),
    ...columns.map(
      (method) =>
        element("th", {scope: "col", class: "number"}, method, element("br"), element("small", {}, "TTFS, ms"))),
    element("th", {scope: "col"}, "answers")
  ];
  const table = element(
    "table", {class: "turns", "aria-label": "Turns"}, element("thead", {}, element("tr", {}, heads)),
    element("tbody", {}, shown.map(([turn, rows]) => turnLine(run, turn, rows, columns, turns.size <= kFewTurns))));
  const more =
    numAnswered > shown.length ? `The first ${shown.length} of ${numAnswered} turns; all are in turns.csv. ` : "";
  return [
    scrolled(sortable(table)),
    element("p", {class: "note"}, `${more}Marked: words that the first text, the baseline's where there is one, lacks.`)
  ];
}
