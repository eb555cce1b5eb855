"""Fails when a page lacks a figure of docs/figures.json, or has one in a table that is not in that file.

usage: check_figures.py REPOSITORY

A figure has name, value, unit, command and machine, and `stands_in`: a list of files with the text that states it, its
number in braces, as in "| greedy | .. {1.49}x". White space counts as a blank, ` .. ` is any part of a line, and the
text occurs once in its file. In the tables of a page or section under `tables`, each number is a figure, except those
in the first column, in brackets and in `code`.
"""
import json
import pathlib
import re
import sys

from check_links import slug
from check_map import tracked_files

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
KEYS = {"name", "value", "unit", "command", "machine", "stands_in"}


def pattern_of(text: str) -> re.Pattern:
    parts = [r"\s+".join(map(re.escape, part.split())) for part in text.split(" .. ")]
    return re.compile(r"[^\n]*?".join(parts).replace(r"\{", r"(?<![\d.,])(").replace(r"\}", r")(?![.,]?\d)"))


def find_stated(figure: dict, pages: dict[str, str], stated: dict[str, set[int]]):
    for place in figure["stands_in"]:
        name, file, text = figure["name"], place["file"], place["text"]
        numbers = re.findall(r"\{([^{}]*)\}", text)
        if len(numbers) != 1 or not NUMBER.fullmatch(numbers[0]):
            yield f"{name}: one number in braces, please: {text}"
        elif float(numbers[0].replace(",", "")) != figure["value"]:
            yield f"{name}: is {figure['value']}, and {file} says: {text}"
        elif len(found := list(pattern_of(text).finditer(pages.get(file, "")))) != 1:
            yield f"{name}: stands {len(found)} times in {file}: {text}"
        else:
            stated.setdefault(file, set()).add(found[0].start(1))


def lines_of_tables(text: str, section: str):
    """Place and text of the rows below a table's head."""
    place, is_inside, row = 0, not section, 0
    for line in text.splitlines(keepends=True):
        if section and line.startswith("#"):
            is_inside = slug(line.lstrip("#").strip()) == section
        row = row + 1 if line.startswith("|") else 0
        if is_inside and row > 2:
            yield place, line
        place += len(line)


def find_unstated(table: str, pages: dict[str, str], stated: dict[str, set[int]]):
    file, _, section = table.partition("#")
    rows = list(lines_of_tables(pages.get(file, ""), section))
    if not rows:
        yield f"{table}: there is no table"
    for place, line in rows:
        blanked = re.sub(r"^\|[^|]*|`[^`]*`|\([^()]*\)", lambda part: " " * len(part[0]), line)
        for number in NUMBER.finditer(blanked):
            if place + number.start() not in stated.get(file, set()):
                yield f"{table}: {number[0]} is in no figure of docs/figures.json: {line.strip()}"


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    pages = {name: (root / name).read_text() for name in tracked_files(root) if name.endswith(".md")}
    document = json.loads((root / "docs/figures.json").read_text())
    names, stated, faults = [], {}, []
    for figure in document["figures"]:
        if set(figure) != KEYS or not figure["stands_in"] or figure["name"] in names:
            faults.append(f"{figure.get('name')}: a figure has a name of its own, {', '.join(sorted(KEYS - {'name'}))}")
            continue
        names.append(figure["name"])
        faults += find_stated(figure, pages, stated)
    for table in document["tables"]:
        faults += find_unstated(table, pages, stated)
    print("\n".join(faults) or f"figures: ok, {len(names)}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
