"""Fails when the file map of README.md and the files that git tracks differ.

usage: check_map.py REPOSITORY

The map is the fenced block under the heading "File map". A line is `name  what it is`, indented by
two spaces for each folder it is in; folders end in `/`; `a.h/.cpp` means a.h and a.cpp; several names are
separated by one space; `*` stands for part of a name. A folder in the map covers all its files,
unless files are listed under it: then all must be; and the same for its folders.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

IGNORED = {".git", ".cache", "runs", "__pycache__", "compile_commands.json"}


def list_files(root: pathlib.Path) -> list[str]:
    git = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "."], capture_output=True)
    if git.returncode == 0 and (root / ".git").exists():
        files = [name for name in git.stdout.decode().split("\0") if name]
    else:  # an unpacked archive
        files = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in IGNORED and not name.startswith("build")]
            files += [os.path.relpath(os.path.join(folder, name), root) for name in names if name not in IGNORED]
    return sorted(name for name in files if (root / name).exists())


def parse_map(readme: str) -> list[str]:
    """Paths from the root; those of folders end in `/`."""
    block = re.search(r"^#+ File map\n.*?^```\w*\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    if not block:
        sys.exit('README.md: no fenced block under a heading "File map"')
    paths, folders = [], []
    for line in block[1].splitlines():
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        if depth > len(folders):
            sys.exit(f"README.md: map line is indented too far: {line}")
        del folders[depth:]
        names = re.split(r"\s{2,}", line.strip())[0].split(" ")
        for name in names:
            first, *endings = re.split(r"/(?=\.)", name)
            stem = first.rsplit(".", 1)[0]
            paths += ["".join(folders) + part for part in [first, *(stem + ending for ending in endings)]]
        if len(names) == 1 and names[0].endswith("/"):
            folders.append(names[0])
    return paths


def compare(paths: list[str], files: list[str]) -> list[str]:
    errors = []
    for path in paths:
        pattern = path + "*" if path.endswith("/") else path
        if not any(fnmatch.fnmatchcase(name, pattern) for name in files):
            errors.append(f"in the map, but not there: {path}")
    if len(set(paths)) < len(paths):
        errors += [f"twice in the map: {path}" for path in sorted(set(paths)) if paths.count(path) > 1]
    # What the map lists inside of each folder ("" is the root); `a/b/` lists a/ too.
    children: dict[str, set[str]] = {}
    for path in paths:
        parts = re.findall(r"[^/]+/?", path)
        for depth, part in enumerate(parts):
            folder = "".join(parts[:depth])
            children.setdefault(folder, set()).add(folder + part)
    missing = set()
    for name in files:
        parts = name.split("/")
        for depth in range(len(parts)):
            folder = "".join(part + "/" for part in parts[:depth])
            is_file = depth == len(parts) - 1
            here = folder + parts[depth] + ("" if is_file else "/")
            listed = [path for path in children.get(folder, ()) if path.endswith("/") != is_file]
            if not listed and folder:
                break  # the folder's own line covers it
            if not any(fnmatch.fnmatchcase(here, path) for path in listed):
                missing.add(here)
                break
    return errors + [f"there, but not in the map: {path}" for path in sorted(missing)]


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv[1])
    problems = compare(parse_map((repository / "README.md").read_text()), list_files(repository))
    print("\n".join(problems) or "map: ok")
    sys.exit(bool(problems))
