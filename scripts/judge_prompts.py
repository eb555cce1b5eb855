"""What a judge is asked, and what it replies, as MT-Bench has both (FastChat's llm_judge). Part of judge.py."""
import json
import re


class BadInput(Exception):
    """One line that says what to change."""


def read_rows(file):
    """(row, "file:line") of each line of a JSONL file that is not blank."""
    number = 0
    try:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield dict(json.loads(line)), f"{file}:{number}"
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}; docs/data.md says where MT-Bench's files are from") from error
    except (TypeError, ValueError) as error:
        raise BadInput(f"{file}:{number}: is no JSON object: {error}") from error


def text_of(row, key, where):
    if not isinstance(row.get(key), str):
        raise BadInput(f'{where}: "{key}" must be a text')
    return row[key]


def fill_places(template, fields):
    """The text with its {places} filled; places that `fields` lacks are added to it, empty. "{{" is "{"."""
    def fill(match):
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            raise BadInput("a brace without its partner; write {{ or }} for the character")
        return fields.setdefault(match[1], "")

    return re.sub(r"\{\{|\}\}|\{([^}]*)\}|[{}]", fill, template)


class Prompts:
    """Rows in the layout of FastChat's judge_prompts.jsonl: "type", "system_prompt" and "prompt_template"."""

    def __init__(self, file):
        self.file, self._prompts = file, []
        for row, where in read_rows(file):
            kind, system, template = (text_of(row, key, where) for key in ("type", "system_prompt", "prompt_template"))
            places = {}
            try:
                fill_places(template, places)
            except BadInput as error:
                raise BadInput(f'{where}: "prompt_template" has {error}') from error
            self._prompts.append((kind, system, template, places.keys()))

    def fill(self, kind, fields):
        """(system, user) by the first prompt of this kind ("single", "pairwise") with exactly the places in `fields`."""
        for its_kind, system, template, places in self._prompts:
            if its_kind == kind and places == fields.keys():
                return system, fill_places(template, dict(fields))
        names = " ".join("{%s}" % name for name in sorted(fields))
        raise BadInput(f'{self.file}: has no prompt of the type "{kind}" with the places {names}')


def read_references(file):
    """Reference answers by the turn's id, "81/0", from rows as FastChat's reference_answer/*.jsonl."""
    references = {}
    for row, where in read_rows(file):
        try:
            turns = row["choices"][0]["turns"]
            references |= {f"{int(row['question_id'])}/{i}": text_of({"turns": text}, "turns", where)
                           for i, text in enumerate(turns)}
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise BadInput(f'{where}: is no reference answer with "question_id" and "choices"') from error
    return references


def find_grade(reply):
    """From 1 to 10, of "[[7]]" or, if there is none, "[7]"; None if there is neither."""
    match = re.search(r"\[\[([0-9]+\.?[0-9]*)\]\]", reply) or re.search(r"\[([0-9]+\.?[0-9]*)\]", reply)
    grade = float(match[1]) if match else 0.0
    return grade if 1 <= grade <= 10 else None


def find_preference(reply):
    """Whose answer is better: "A", "B" or, for neither, "C"; None if the reply does not say."""
    return next((name for name in "ABC" if f"[[{name}]]" in reply), None)
