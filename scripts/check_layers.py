"""Fails when a folder includes one that comes after it in LAYERS, or the tests, or when one of
NO_TORCH uses LibTorch.

usage: check_layers.py REPOSITORY
"""
import pathlib
import re
import sys

# Each may include itself and those before it.
LAYERS = ["core", "text", "page", "model", "voice", "runtime", "data", "evaluate", "train", "serve", "cli"]
NEVER = {"tests", "bench"}
NO_TORCH = {"core", "text", "page"}
LIBTORCH = re.compile(r"(ATen|c10|torch)/")


def find_faults(root: pathlib.Path) -> list[str]:
    errors = []
    for layer, folder in enumerate(LAYERS):
        sources = [path for path in sorted((root / folder).rglob("*")) if path.suffix in {".h", ".cpp", ".cu", ".cuh"}]
        if not sources:
            errors.append(f"{folder}/: no sources there")
        for path in sources:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
                if not match:
                    continue
                place = f"{path.relative_to(root)}:{number}"
                target = match[1].split("/")[0]
                if target in NEVER or (target in LAYERS and LAYERS.index(target) > layer):
                    errors.append(f"{place}: {folder}/ may not include {target}/")
                if folder in NO_TORCH and LIBTORCH.match(match[1]):
                    errors.append(f"{place}: {folder}/ does without LibTorch")
                if match[1].startswith(".."):
                    errors.append(f"{place}: include from the repository's root")
    return errors


if __name__ == "__main__":
    faults = find_faults(pathlib.Path(sys.argv[1]))
    print("\n".join(faults) or "layers: ok")
    sys.exit(bool(faults))
