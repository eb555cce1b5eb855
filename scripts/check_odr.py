"""Fails when two files define a type (struct, class, union or enum) of the same name in one namespace:
the linker then silently uses the functions of one of them for both.

usage: check_odr.py REPOSITORY

Types in unnamed namespaces, in functions and in other types may share a name; so may the branches of an
`#if` in one file.
"""
import pathlib
import re
import sys

from check_map import tracked_files

SOURCES = {".h", ".cpp", ".cu", ".cuh"}
SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<end>[^(\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'"""
                     r"""|^[ \t]*\#(?:\\\n|[^\n])*""", re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\s*\([^()]*\)\s*)?(?:\[\[.*?\]\]\s*)?"
                  r"([\w:]+(?:\s*<[^;{}]*>)?)\s*(?:final\s*)?(?::(?!:)[^;{}]*)?$", re.DOTALL)


def defined_types(text: str) -> list[tuple[str, int]]:
    """Qualified names of the types defined at the scope of a named namespace, and their lines."""
    text = SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    types, scopes, start = [], [], 0  # a scope: its name, or None where nothing counts
    for token in re.finditer(r"[{};]", text):
        before = text[start:token.start()]
        start = token.end()
        if token[0] == "{":
            namespace, kind = NAMESPACE.search(before), TYPE.search(before)
            scope = None
            if None not in scopes and namespace:
                scope = namespace[1] or None
            elif None not in scopes and kind:
                name = re.sub(r"\s+", "", kind[1])
                if "::" not in name:  # else a type in another one
                    types.append(("::".join([*scopes, name]), text.count("\n", 0, token.start()) + 1))
            scopes.append(scope)
        elif token[0] == "}" and scopes:
            scopes.pop()
    return types


def find_faults(root: pathlib.Path, files: list[str]) -> list[str]:
    places: dict[str, dict[str, int]] = {}
    for name in files:
        if pathlib.PurePath(name).suffix in SOURCES:
            for kind, line in defined_types((root / name).read_text()):
                places.setdefault(kind, {}).setdefault(name, line)
    return [f"{kind} is defined in {len(where)} files: " + ", ".join(f"{name}:{line}" for name, line in where.items())
            for kind, where in sorted(places.items()) if len(where) > 1]


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv[1])
    problems = find_faults(repository, tracked_files(repository))
    print("\n".join(problems) or "odr: ok")
    sys.exit(bool(problems))
