"""Fails when a recipe of CONTRIBUTING.md names what is not there.

usage: check_recipes.py REPOSITORY

Looks at the sections below "Recipes", one a recipe. What stands in backticks and has a `/` is a path from
the root: git tracks a file of that name, or files in that folder. `*` stands for part of a name, and so
does `<name>`, which the reader chooses: something of its kind is there already. `a.h/.cpp` means a.h and
a.cpp. In "`word` in `path`" the word (or `call()`) must occur in that file.
"""
import pathlib
import re
import sys

from check_map import tracked_files

PATH = re.compile(r"[\w.<>*-]+(/[\w.<>*-]*)+")
WORD_IN_PATH = re.compile(r"`(\w+)(?:\(\))?` in `([^`]+)`")


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


def find_faults(recipe: str, root: pathlib.Path, files: list[str]) -> list[str]:
    def matches(path: str) -> list[str]:
        pattern = "[^/]+".join(map(re.escape, re.split(r"<\w+>|\*", path)))
        return [name for name in files if re.fullmatch(pattern + ".*" if path.endswith("/") else pattern, name)]

    paths = paths_of(recipe)
    faults = [f"there is no {path}" for path in paths if not matches(path)]
    for word, path in WORD_IN_PATH.findall(recipe):
        if path in files and not re.search(rf"\b{word}\b", (root / path).read_text()):
            faults.append(f"{path} has no {word}")
    return faults if paths else ["names no file"]


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv[1])
    tracked = tracked_files(repository)
    problems = [f'recipe "{title}": {fault}'
                for title, recipe in parse_recipes((repository / "CONTRIBUTING.md").read_text()).items()
                for fault in find_faults(recipe, repository, tracked)]
    print("\n".join(problems) or "recipes: ok")
    sys.exit(bool(problems))
