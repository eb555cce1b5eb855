"""Fails when a table's figures are not those that the marker above it vouches for.

usage: check_figures.py REPOSITORY

A marker is a comment in a page (*.md), right above a table. It says how the figures were made, and has their hash:

    <!-- figures 1a2b3c4d
    command: bench/talk_waits.py build/predgen even.jsonl --count 60 ..
    machine: two cores of an AMD EPYC (AVX-512 with bfloat16)
    commit: 01965b70 -->

Whoever changes a figure has measured it: write how into the marker, then the hash that this script prints. A table
that repeats figures of another one has `from: docs/page.md#section` in place of the three, and each of its figures
stands there. In the pages of MARKED, every table with figures has a marker.
"""
import hashlib
import pathlib
import re
import sys

from check_links import slug
from check_map import tracked_files

MARKED = {"README.md", "docs/measurements.md", "docs/paper.md"}
COMMENT = re.compile(r"^<!--\s*figures?\b(.*?)-->", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
MADE_HERE, REPEATED = ["command", "machine", "commit"], ["from"]


def cells_of(table: str) -> list[list[list[str]]]:
    """The numbers of each cell of each row, the head's among them; those in `code` are names."""
    rows = re.sub(r"`[^`\n]*`", "", table).splitlines()
    return [[NUMBER.findall(cell) for cell in row.strip().strip("|").split("|")] for row in rows]


def figures_of(table: str) -> list[str]:
    """What a table states: numbers below its head, behind the first column."""
    return [number for row in cells_of(table)[2:] for cell in row[1:] for number in cell]


def hash_of(table: str) -> str:
    text = "\n".join("|".join(" ".join(cell) for cell in row) for row in cells_of(table))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def find_repeated(source: str, table: str, pages: dict[str, str]):
    file, _, section = source.partition("#")
    parts = re.split(r"^#+ +(.*)$", pages.get(file, ""), flags=re.MULTILINE)
    bodies = [body for heading, body in zip(parts[1::2], parts[2::2]) if slug(heading.strip()) == section]
    there = {figure for body in bodies for part in TABLE.findall(body) for figure in figures_of(part)}
    if not there:
        yield f"there is no table in {source}"
    for figure in figures_of(table):
        if there and figure not in there:
            yield f"{figure} is in no table of {source}"


def find_wrong(marker: str, table: str, pages: dict[str, str]):
    head, *lines = marker.rstrip().split("\n")
    fields = dict(re.fullmatch(r"(\w+): *(.*?) *", line).groups() for line in lines if re.fullmatch(r"\w+: *\S.*", line))
    if len(fields) != len(lines) or list(fields) not in (MADE_HERE, REPEATED):
        yield "a marker has lines `command: ..`, `machine: ..` and `commit: ..`, or one, `from: page#section`"
    elif not re.fullmatch(r"[0-9a-f]{7,40}(, [0-9a-f]{7,40})*", fields.get("commit", "0000000")):
        yield f"commit {fields['commit']}: hashes, please"
    if "from" in fields:
        yield from find_repeated(fields["from"], table, pages)
    if not table or not figures_of(table):
        yield "the marker is not right above a table with figures"
    elif head.strip() != hash_of(table):
        yield (f"the figures are not those of this marker, {head.strip()}: say in it how they were measured, "
               f"then write {hash_of(table)}")


def find_faults(page: str, pages: dict[str, str], counted: list[str]):
    text = FENCED.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), pages[page])
    marked = set()
    for comment in COMMENT.finditer(text):
        table = TABLE.match(text, comment.end() + 1)
        if table:
            marked.add(table.start())
            counted.append(page)
        line = text.count("\n", 0, comment.start()) + 1
        yield from (f"{page}:{line} {fault}" for fault in find_wrong(comment[1], table[0] if table else "", pages))
    for table in TABLE.finditer(text):
        if page in MARKED and figures_of(table[0]) and table.start() not in marked:
            yield f"{page}:{text.count(chr(10), 0, table.start()) + 1} this table has figures and no marker above it"


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    pages = {name: (root / name).read_text() for name in tracked_files(root) if name.endswith(".md")}
    counted = []
    faults = [fault for page in sorted(pages) for fault in find_faults(page, pages, counted)]
    print("\n".join(faults) or f"figures: ok, {len(counted)} tables")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
