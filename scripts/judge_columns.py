"""The judge's columns of a results.json: which questions they take, and what is written. Part of judge.py."""
import json
from typing import NamedTuple

from judge_prompts import BadInput, find_grade, find_preference

COLUMNS = ("judge_grade", "judge_against_baseline", "judge_grade_problem", "judge_against_baseline_problem")
OUTCOMES = {"AB": "loss", "BA": "win"}  # preferred in the first order, where the baseline's answer is A, and in the second
PAIR_COUNTS = {"win": "wins", "tie": "ties", "loss": "losses"}


class Turn(NamedTuple):
    id: str
    question: str  # as the judge reads it
    continues: bool  # the turn before it


class Case(NamedTuple):
    """What is asked about an answer: (system, user), or None."""
    row: dict
    grade: tuple | None
    pair: tuple | None  # both orders
    is_alike: bool  # the same text as the baseline's: a tie


def read_turns(results):
    """A Turn of each turn that has rows, by its number."""
    turns = {}
    for row in results["turns"]:
        if "questions" in results:
            about = results["questions"][row["turn"]]
        elif row["round"] == 1:
            about = {"history": [], "continues": False}
        else:
            raise BadInput("results.json is of an older predgen and lacks what was said before its turns: run predgen eval again")
        said = [("User: " if one["role"] == "user" else "Assistant: ") + one["content"] for one in about["history"]]
        question = "\n\n".join([*said, f"User: {row['prompt']}"]) if said else row["prompt"]
        turns[row["turn"]] = Turn(row["id"], question, about["continues"])
    return turns


def accept_old_names(value):
    """Gives what older versions of predgen eval wrote its name of today: a "price" is a "cost"."""
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        accept_old_names(child)
    if isinstance(value, dict):
        for old in {"price", "draft_price"} & value.keys():
            value[old.replace("price", "cost")] = value.pop(old)


def rows_by_run(results):
    """[(run, its rows)]."""
    found = [(run, [row for row in results["turns"] if (row["model"], row["cost"]) == (run["model"], run["cost"]["name"])])
             for run in results["runs"]]
    if sum(len(rows) for _, rows in found) != len(results["turns"]):
        raise BadInput('results.json has rows in "turns" of no run in "runs", or of two')
    return found


def question_fields(turns, references, index):
    """Question and reference answers of a turn, for the places of a prompt."""
    turn, fields = turns[index], {}
    for at, number in ((index - 1, 1), (index, 2)) if turn.continues else ((index, 1),):
        fields[f"question_{number}" if turn.continues else "question"] = turns[at].question
        if turns[at].id in references:
            fields[f"ref_answer_{number}"] = references[turns[at].id]
    return fields


def answer_fields(turns, index, side, answers):
    if turns[index].continues:
        return {f"answer{side}_1": answers[index - 1], f"answer{side}_2": answers[index]}
    return {f"answer{side}": answers[index]}


def make_cases(results, prompts, references, grades, pairs):
    """A Case of every row."""
    turns, cases = read_turns(results), []
    for run, rows in rows_by_run(results):
        answers = {}
        for row in rows:
            answers.setdefault(row["method"], {})[row["turn"]] = row["text"]
        if pairs and rows and "baseline" not in answers:
            raise BadInput("results.json has no answers of the method baseline to compare with: give --no-pairs")
        for row in rows:
            index, own, base = row["turn"], answers[row["method"]], answers.get("baseline", {})
            fields = question_fields(turns, references, index)
            grade = prompts.fill("single", fields | answer_fields(turns, index, "", own)) if grades else None
            pair, is_alike = None, False
            if pairs and row["method"] != "baseline":
                compared = [index - 1, index] if turns[index].continues else [index]
                is_alike = all(own[at] == base[at] for at in compared)
                pair = tuple(prompts.fill("pairwise", fields | answer_fields(turns, index, own_side, own)
                                          | answer_fields(turns, index, base_side, base))
                             for own_side, base_side in (("_b", "_a"), ("_a", "_b")))
            cases.append(Case(row, grade, None if is_alike else pair, is_alike))
    return cases


def requests_of(cases):
    """All that may be asked, each once."""
    return list(dict.fromkeys(request for case in cases for request in (case.grade, *(case.pair or ())) if request))


def judge(case, client):
    """Sets the row's columns by what the client says."""
    columns = dict(zip(COLUMNS, (None, None, "", "")))
    if case.grade:
        verdict = client.ask(case.grade, lambda text: find_grade(text) is not None)
        columns["judge_grade"] = find_grade(verdict.text) if verdict.text is not None else None
        columns["judge_grade_problem"] = verdict.problem
    if case.is_alike:
        columns["judge_against_baseline"] = "tie"
    elif case.pair:
        preferred = ""
        for request in case.pair:
            verdict = client.ask(request, lambda text: find_preference(text) is not None)
            if verdict.text is None:
                columns["judge_against_baseline_problem"] = verdict.problem
                break
            preferred += find_preference(verdict.text)
        else:
            columns["judge_against_baseline"] = OUTCOMES.get(preferred, "tie")
    place_columns(case.row, columns)


def place_columns(row, columns):
    """Puts them in front of the run's, as predgen eval would."""
    names = [name for name in row if name not in columns]
    at = names.index("model")
    values = row | columns
    row.clear()
    row.update((name, values[name]) for name in [*names[:at], *columns, *names[at:]])


def describe(rows):
    """The judge's part of a method's summary; None if no row is judged."""
    if not rows:
        return None
    grades = [row["judge_grade"] for row in rows if row["judge_grade"] is not None]
    outcomes = [row["judge_against_baseline"] for row in rows if row["judge_against_baseline"] is not None]
    no_grade, no_outcome = (sum(row[name] != "" for row in rows) for name in COLUMNS[2:])
    described = {"grade": None, "pairs": None}
    if grades or no_grade:
        described["grade"] = {"mean": sum(grades) / len(grades) if grades else None, "n": len(grades), "missing": no_grade}
    if outcomes or no_outcome:
        described["pairs"] = {name: outcomes.count(outcome) for outcome, name in PAIR_COUNTS.items()} | {"missing": no_outcome}
    return described


def summarize(results):
    """Sets the judge's part of every summary, from the rows."""
    def fill(summary, rows):
        for name, method in ((summary or {}).get("methods") or {}).items():
            method["judge"] = describe([row for row in rows if row["method"] == name])

    for at, (run, rows) in enumerate(rows_by_run(results)):
        unseen = [row for row in rows if row.get("in_training_data") == "none"]
        for summary in (run, results) if at == 0 else (run,):  # the first run stands beside "runs", too
            fill(summary, rows)
            fill(summary.get("unseen"), unseen)


def csv_text(results):
    """turns.csv, as predgen eval writes it."""
    def cell(value):
        if value is None:
            return ""
        return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    def line(values):
        return ",".join(cell(value) for name, value in values if name != "token_ids") + "\r\n"

    rows = results["turns"]
    return "".join([line((name, name) for name in row) for row in rows[:1]] + [line(row.items()) for row in rows])


def table(results):
    """What the judge said of each method, for a terminal."""
    lines = []
    for run in results["runs"]:
        lines += [f"{run['model']}, cost {run['cost']['name']}", f"{'method':16} {'judge':>13} {'win/tie/loss':>13}"]
        for name, method in run["methods"].items():
            grade, pairs = ((method["judge"] or {}).get(key) for key in ("grade", "pairs"))
            cells = ["-", "-"]
            if grade:
                cells[0] = ("-" if grade["mean"] is None else f"{grade['mean']:.2f}") + missing(grade)
            if pairs:
                cells[1] = "/".join(str(pairs[key]) for key in PAIR_COUNTS.values()) + missing(pairs)
            lines.append(f"{name:16} {cells[0]:>13} {cells[1]:>13}")
    return "\n".join(lines)


def missing(counts):
    return f" {counts['missing']} out" if counts["missing"] else ""


def problems(results, shown=5):
    """The answers that could not be judged; the first of them."""
    lines = [f"  turn {row['id']}, {row['method']}: {row[name]}"
             for row in results["turns"] for name in COLUMNS[2:] if row[name]]
    if not lines:
        return ""
    more = [f"  and {len(lines) - shown} more, in results.json"] if len(lines) > shown else []
    return "\n".join([f"\nNot judged, and in no mean: {len(lines)}", *lines[:shown], *more])
