"""Fails when a recipe of CONTRIBUTING.md, or the head of a configuration, names what is not there.

usage: check_recipes.py REPOSITORY

Each section below "Recipes" is one recipe. Text in backticks with a `/` is a path from the root: git must
track a file of that name, or files in that folder. `*` stands for part of a name, and so does `<name>`, which
the reader chooses: something of its kind must exist. `a.h/.cpp` means a.h and a.cpp. In "`word` in `path`" and
"`word` of `path`" the word (or `call()`, or each of several words) must occur in that file.

A recipe names at most 12 files, so that a reader can keep them in mind: a.h and a.cpp are one, and tests, pages
and lists for CMake are not counted. A longer recipe becomes two.

A configuration (configs/*/*.yaml) begins with a comment that says what it is for, its command, which
names the file itself, and its hardware. Configurations and scripts that such a head, README.md or a page
of docs/ names must exist.
"""
import pathlib
import re
import sys

from check_map import tracked_files

PATH = re.compile(r"[\w.<>*-]+(/[\w.<>*-]*)+")
HEAD = re.compile(r"# What it is for: \S.*\n(?:# .*\n)*?# Command: +(?P<command>\S.*)\n(?:# .*\n)*?# Hardware: \S")
NAMED_FILE = re.compile(r"(?<![\w/])(?:configs/[\w/.*-]+\.(?:yaml|json)|scripts/\w+\.(?:sh|py))")
WORDS_IN_PATH = re.compile(r"((?:`[\w:]+(?:\(\))?`(?:,\s+|\s+and\s+|\s+or\s+)?)+)\s+(?:in|of)\s+`([^`]+)`")
MOST_FILES = 12
NOT_COUNTED = re.compile(r"(tests|docs|cmake)/.*|.*/|.*CMakeLists\.txt|.*\.md")


def parse_recipes(text: str) -> dict[str, str]:
    section = re.search(r"^## Recipes\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not section:
        sys.exit('CONTRIBUTING.md: no section "Recipes"')
    prose = re.sub(r"^```.*?^```\n", "", section[1], flags=re.MULTILINE | re.DOTALL)
    _, *parts = re.split(r"^### (.*)\n", prose, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2]))


def paths_of(recipe: str) -> list[str]:
    paths = []
    for code in re.findall(r"`([^`]+)`", recipe):
        if PATH.fullmatch(code):
            first, *endings = re.split(r"/(?=\.\w)", code)
            paths += [first, *(first.rsplit(".", 1)[0] + ending for ending in endings)]
    return paths


def counted_files(recipe: str) -> list[str]:
    files = [path for path in paths_of(recipe) if not NOT_COUNTED.fullmatch(path)]
    return sorted({re.sub(r"\.(h|cpp)$", "", path) for path in files})


def find_faults(recipe: str, root: pathlib.Path, files: list[str]) -> list[str]:
    def matches(path: str) -> list[str]:
        pattern = "[^/]+".join(map(re.escape, re.split(r"<\w+>|\*", path)))
        return [name for name in files if re.fullmatch(pattern + ".*" if path.endswith("/") else pattern, name)]

    paths = paths_of(recipe)
    faults = [f"there is no {path}" for path in paths if not matches(path)]
    for words, path in WORDS_IN_PATH.findall(recipe):
        texts = [(root / name).read_text() for name in paths_of(f"`{path}`") if name in files]
        for word in re.findall(r"(\w+)(?:\(\))?`", words):
            if texts and not any(re.search(rf"\b{word}\b", text) for text in texts):
                faults.append(f"{path} has no {word}")
    if len(counted := counted_files(recipe)) > MOST_FILES:
        faults.append(f"names {len(counted)} files, of which a recipe may have {MOST_FILES}: {', '.join(counted)}")
    return faults if paths else ["names no file"]


def find_faults_of_configurations(root: pathlib.Path, files: list[str]) -> list[str]:
    faults = []
    configurations = [name for name in files if re.fullmatch(r"configs/\w+/\w+\.yaml", name)]
    for name in configurations:
        head = HEAD.match((root / name).read_text())
        if not head:
            faults.append(f"{name}: its head lacks one of: What it is for, Command, Hardware")
        elif name not in head["command"]:
            faults.append(f"{name}: its command does not name it")
    pages = [name for name in files if name == "README.md" or re.fullmatch(r"docs/\w+\.md", name)]
    for name in configurations + pages:
        text = (root / name).read_text()
        if name in configurations:  # the comment at the top
            text = re.match(r"(#.*\n)*", text)[0]
        faults += [f"{name}: there is no {named}" for named in sorted(set(NAMED_FILE.findall(text)))
                   if not any(pathlib.PurePath(file).match(named) for file in files)]
    return faults


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv[1])
    tracked = tracked_files(repository)
    problems = [f'recipe "{title}": {fault}'
                for title, recipe in parse_recipes((repository / "CONTRIBUTING.md").read_text()).items()
                for fault in find_faults(recipe, repository, tracked)]
    problems += find_faults_of_configurations(repository, tracked)
    print("\n".join(problems) or "recipes: ok")
    sys.exit(bool(problems))
