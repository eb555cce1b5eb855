"""Fails when a folder includes the tests or one that comes after it in LAYERS, when one of NO_TORCH uses
LibTorch, when a room (with its tests) has more than its share of all lines, and when folders of one room
include each other in a circle: for subfolders among themselves any file counts, for all folders of the
room, with its top one, only headers. A make_*.h does not count: it lists what implements a seam.

usage: check_layers.py REPOSITORY
"""
import collections
import pathlib
import re
import sys

# Each may include itself and those before it.
LAYERS = ["core", "text", "act", "kernels", "tensors", "audio", "hear", "model", "checkpoint", "voice", "runtime",
          "data", "evaluate", "train", "serve", "cli"]
NEVER = {"tests", "bench"}
NO_TORCH = {"core", "text", "act", "audio", "hear"}
LIBTORCH = re.compile(r"(ATen|c10|torch)/")
HEADERS = {".h", ".cuh"}
SOURCES = {".cpp", ".cu"}
LANGUAGES = HEADERS | SOURCES | {".py", ".sh", ".js", ".css", ".html"}
LARGEST_SHARE = 0.12  # of the lines of all rooms, their tests, and what is beside them


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
            folder, other = ("/".join(part.parts[:2][:len(part.parts) - 1]) for part in (own, target))
            if folder == other:
                continue
            if path.suffix in HEADERS and not own.name.startswith("make_"):
                by_headers[folder].setdefault(other, line)
            if "/" in folder and "/" in other:
                subfolders[folder].setdefault(other, line)
    errors = []
    for what, edges in ("subfolders", subfolders), ("headers of folders", by_headers):
        if circle := find_circle(edges):
            errors.append(f"{room}/: {what} include each other in a circle: " + ", ".join(circle))
    return errors


def find_too_large(root: pathlib.Path) -> list[str]:
    lines = collections.Counter()
    for folder in LAYERS + ["tests", "bench", "scripts"]:
        for path in (root / folder).rglob("*"):
            if path.suffix in LANGUAGES and path.is_file():
                parts = path.relative_to(root).parts
                lines[parts[1] if parts[0] == "tests" else parts[0]] += len(path.read_bytes().splitlines())
    total = sum(lines.values())
    return [f"{room}/: has {lines[room] / total:.1%} of all lines, of which a room may have {LARGEST_SHARE:.0%}"
            for room in LAYERS if lines[room] > max(LARGEST_SHARE * total, 1000)]


def find_faults(root: pathlib.Path) -> list[str]:
    errors = find_too_large(root)
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
