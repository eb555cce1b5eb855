"""Fails when a link of a page (*.md) to a file or section of this repository leads nowhere.

usage: check_links.py REPOSITORY

Links are `[text](path#section)` and pictures `![text](path)`, relative to the page's folder. A section is a heading in
lower case, with hyphens for blanks and without punctuation.
"""
import pathlib
import re
import sys

from check_map import tracked_files

LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|^    [^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections_of(text: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [slug(heading) for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)]


def find_faults(root: pathlib.Path, page: str, files: set[str]):
    text = (root / page).read_text()
    code_blanked = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for link in LINK.finditer(code_blanked):
        path, _, section = link[1].partition("#")
        if re.match(r"\w+:", path):
            continue
        line = code_blanked.count("\n", 0, link.start()) + 1
        target = (root / page).parent / path if path else root / page
        name = str(target.resolve().relative_to(root.resolve())) if target.resolve().is_relative_to(root.resolve()) else ""
        if name not in files and not any(file.startswith(name + "/") for file in files):
            yield f"{page}:{line} there is no {path}"
        elif section and section not in sections_of(target.read_text()):
            yield f"{page}:{line} {path or page} has no section #{section}"


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv[1])
    tracked = set(tracked_files(repository))
    faults = [fault for page in sorted(tracked) if page.endswith(".md") for fault in find_faults(repository, page, tracked)]
    print("\n".join(faults) or "links: ok")
    sys.exit(bool(faults))
