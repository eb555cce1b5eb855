"""Fails when the folder maps of README.md and docs/code.md and the folders that git tracks differ.

usage: check_map.py REPOSITORY

A map is the fenced block under the heading "Folder map". A line is `name/  what it is`, indented by
two spaces when the folder is in the one above; several names are separated by one space. All folders
of the repository are in both maps, and the folders of the rooms (LAYERS in check_layers.py) in that of
docs/code.md.
"""
import pathlib
import re
import subprocess
import sys

from check_layers import LAYERS

NOT_A_CLONE = 77  # ctest: skipped
MAPS = {"README.md": False, "docs/code.md": True}  # by page: whether it has the rooms' folders


def tracked_files(root: pathlib.Path) -> list[str]:
    git = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if git.returncode != 0 or not (root / ".git").exists():
        print(f"skipped: {root} is no git clone, so what belongs to it is not known")
        sys.exit(NOT_A_CLONE)
    return [name for name in git.stdout.decode().split("\0") if name and (root / name).exists()]


def parse_map(page: str, text: str) -> list[str]:
    """Folders from the root, each ending in `/`."""
    block = re.search(r"^#+ Folder map\n.*?^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if not block:
        sys.exit(f'{page}: no fenced block under a heading "Folder map"')
    folders, inside = [], ""
    for line in filter(str.strip, block[1].splitlines()):
        names = re.split(r"\s{2,}", line.strip())[0].split(" ")
        if not all(name.endswith("/") for name in names):
            sys.exit(f"{page}: the map has folders only, each ending in /: {line}")
        if not line.startswith(" "):
            folders += names
            inside = names[0] if len(names) == 1 else ""
        elif inside and re.match(r"  \S", line):
            folders += [inside + name for name in names]
        else:
            sys.exit(f"{page}: a line of the map is indented too far: {line}")
    return folders


def compare(page: str, folders: list[str], files: list[str], rooms: bool) -> list[str]:
    existing = {"".join(part + "/" for part in name.split("/")[:depth])
                for name in files for depth in range(1, name.count("/") + 1)}
    wanted = {name for name in existing if name.count("/") == 1
              or rooms and name.count("/") == 2 and name.split("/")[0] in LAYERS}
    return ([f"{page}: in the map, but not there: {name}" for name in folders if name not in existing] +
            [f"{page}: twice in the map: {name}" for name in sorted(set(folders)) if folders.count(name) > 1] +
            [f"{page}: there, but not in the map: {name}" for name in sorted(wanted - set(folders))])


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv[1])
    tracked = tracked_files(repository)
    problems = []
    for page, rooms in MAPS.items():
        text = (repository / page).read_text() if (repository / page).exists() else ""
        problems += compare(page, parse_map(page, text), tracked, rooms)
    print("\n".join(problems) or "map: ok")
    sys.exit(bool(problems))
