"""Fails when a folder includes one that comes after it in LAYERS, or the tests, when one of NO_TORCH
uses LibTorch, and when folders of one room include each other in a circle: subfolders among
themselves by any file, and all folders of the room, its own top one too, by their headers.

usage: check_layers.py REPOSITORY
"""
import collections
import pathlib
import re
import sys

# Each may include itself and those before it.
LAYERS = ["core", "text", "page", "model", "voice", "runtime", "data", "evaluate", "train", "serve", "cli"]
NEVER = {"tests", "bench"}
NO_TORCH = {"core", "text", "page"}
LIBTORCH = re.compile(r"(ATen|c10|torch)/")
HEADERS = {".h", ".cuh"}
SOURCES = {".cpp", ".cu"}


def includes(path: pathlib.Path) -> list[tuple[int, str]]:
    lines = enumerate(path.read_text().splitlines(), 1)
    found = [(number, re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)) for number, line in lines]
    return [(number, match[1]) for number, match in found if match]


def find_circle(edges: dict[str, dict[str, str]]) -> list[str]:
    """One circle as lines "place: includes file", or nothing. `edges`: from, to, one such line."""
    done, path = set(), []

    def visit(folder: str) -> list[str]:
        if folder in path:
            circle = path[path.index(folder):] + [folder]
            return [edges[start][end] for start, end in zip(circle, circle[1:])]
        if folder in done:
            return []
        path.append(folder)
        circle = next((found for target in sorted(edges.get(folder, {})) if (found := visit(target))), [])
        path.pop()
        done.add(folder)
        return circle

    return next((circle for folder in sorted(edges) if (circle := visit(folder))), [])


def find_circles(root: pathlib.Path, room: str, sources: list[pathlib.Path]) -> list[str]:
    subfolders, by_headers = collections.defaultdict(dict), collections.defaultdict(dict)
    for path in sources:
        own = path.relative_to(root)
        for number, name in includes(path):
            target = pathlib.PurePosixPath(name)
            if target.parts[0] != room or own.parent == target.parent:
                continue
            line = f"{own}:{number} includes {target}"
            if path.suffix in HEADERS:
                by_headers[str(own.parent)].setdefault(str(target.parent), line)
            if len(own.parts) > 2 < len(target.parts) and own.parts[1] != target.parts[1]:
                subfolders[own.parts[1]].setdefault(target.parts[1], line)
    errors = []
    for what, edges in ("subfolders", subfolders), ("headers of folders", by_headers):
        if circle := find_circle(edges):
            errors.append(f"{room}/: {what} include each other in a circle: " + ", ".join(circle))
    return errors


def find_faults(root: pathlib.Path) -> list[str]:
    errors = []
    for layer, folder in enumerate(LAYERS):
        sources = [path for path in sorted((root / folder).rglob("*")) if path.suffix in HEADERS | SOURCES]
        if not sources:
            errors.append(f"{folder}/: no sources there")
        for path in sources:
            for number, name in includes(path):
                place = f"{path.relative_to(root)}:{number}"
                target = name.split("/")[0]
                if target in NEVER or (target in LAYERS and LAYERS.index(target) > layer):
                    errors.append(f"{place}: {folder}/ may not include {target}/")
                if folder in NO_TORCH and LIBTORCH.match(name):
                    errors.append(f"{place}: {folder}/ does without LibTorch")
                if name.startswith(".."):
                    errors.append(f"{place}: include from the repository's root")
        errors += find_circles(root, folder, sources)
    return errors


if __name__ == "__main__":
    faults = find_faults(pathlib.Path(sys.argv[1]))
    print("\n".join(faults) or "layers: ok")
    sys.exit(bool(faults))
