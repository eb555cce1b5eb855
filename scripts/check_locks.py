"""Fails where Clang's thread-safety analysis finds a member used without its mutex, and where a declared
mutex is unknown to the analysis (core/mutex.h) or guards nothing.

usage: check_locks.py REPOSITORY [BUILD]

BUILD has compile_commands.json; default: REPOSITORY/build. Of its sources, the script reads those that name a guarded
member, or a function that requires a mutex, of their own or of a header that they include: no other can misuse one.
Each such header is read with at least one source. Sources of a folder are read together, as the build compiles them.
Needs clang++ 14: without it only the declarations are checked, and the exit code is 77.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from check_layers import LAYERS, SOURCES, HEADERS, includes
from clang_commands import clang_commands

PROCESSES = 2  # as tests/CMakeLists.txt says
TOGETHER = 12  # sources at most
MUTEX = "core/mutex.h"
LARGE = ["ATen/ATen.h", "nlohmann/json.hpp", "spdlog/spdlog.h"]
UNKNOWN = re.compile(r"(?<!<)\bstd::(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex\b")
DECLARED = re.compile(r"\s*(?:(?:mutable|static|inline)\s+)*(?:Shared)?Mutex\s+(\w+)\s*(?:\{\})?;\s*(?P<comment>.*)")
ANNOTATED = re.compile(r"([^;{}]*?)\b(?:GUARDED_BY|REQUIRES)\(")
FUNCTION = re.compile(r"(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*(?:const)?\s*$")
MEMBER = re.compile(r"(\w+)\s*$")
CLASS = re.compile(r"^(?:class|struct) (\w+)[^;{]*\{|^ (public|protected|private):", re.MULTILINE)


def find_undeclared(name: str, text: str) -> list[str]:
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        if UNKNOWN.search(line.split("//")[0]):
            errors.append(f"{name}:{number}: the analysis does not know this mutex: take one of {MUTEX}")
        found = DECLARED.match(line)
        if (found and not found["comment"].startswith("// guards ")
                and not re.search(rf"\b(?:GUARDED_BY|REQUIRES)\((?:\w+(?:\.|->))?{found[1]}\)", text)):
            errors.append(f"{name}:{number}: nothing is GUARDED_BY({found[1]}): declare what is, or say in a comment behind it "
                          "what it guards that is no member (// guards ..)")
    return errors


def guarded_names(text: str) -> set[tuple[str, str]]:
    """What GUARDED_BY and REQUIRES are on, after the class of which it is a private member, or nothing."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), text)
    names = set()
    for found in ANNOTATED.finditer(text):
        name = FUNCTION.search(found[1]) or MEMBER.search(found[1])
        owner, access = "", "public"
        for line in CLASS.finditer(text, 0, found.end()):
            owner, access = (line[1], "public") if line[1] else (owner, line[2])
        if name:
            names.add((owner if access == "private" and "friend class" not in text else "", name[1]))
    return names


def sources_to_read(root: pathlib.Path, texts: dict[str, str]) -> list[str]:
    guarded = {name: guarded_names(text) for name, text in texts.items()}
    direct = {name: {target for _, target in includes(root / name)} & texts.keys() for name in texts}

    def seen_by(name: str) -> set[str]:
        seen, waiting = {name}, [name]
        while waiting:
            new = direct[waiting.pop()] - seen
            seen |= new
            waiting += new
        return {other for other in seen if guarded[other]}

    seen = {name: seen_by(name) for name in sorted(texts) if pathlib.PurePath(name).suffix in SOURCES}
    chosen = []
    for name, headers in seen.items():
        words = set(re.findall(r"\w+", texts[name]))
        if name in headers or any(one in words and (not owner or f"{owner}::" in texts[name])
                                  for header in headers for owner, one in guarded[header]):
            chosen.append(name)
    for header in filter(guarded.get, sorted(texts)):
        if not any(header in seen[name] for name in chosen):
            chosen += [name for name in seen if header in seen[name]][:1]
    return chosen


class Clang:
    """Reads sources by the commands of a build."""

    def __init__(self, path: str):
        self._path, self._precompiled = path, []

    def _run(self, entry: dict[str, str], options: list[str], source: str) -> subprocess.CompletedProcess:
        return subprocess.run([self._path, "-Wno-everything", *words_of(entry), *options, source], cwd=entry["directory"],
                              capture_output=True, text=True)

    def precompile(self, entry: dict[str, str], folder: pathlib.Path) -> None:
        """Precompiles the large third-party headers once for all sources."""
        header, result = folder / "large.h", folder / "large.pch"
        header.write_text("".join(f"#include <{name}>\n" for name in LARGE))
        done = self._run(entry, ["-x", "c++-header", "-o", str(result)], str(header))
        if done.returncode:
            sys.exit(f"locks: {', '.join(LARGE)} cannot be precompiled\n{done.stderr}")
        self._precompiled = ["-include-pch", str(result), "-Xclang", "-fno-validate-pch"]  # despite other definitions

    def findings(self, entries: list[dict[str, str]]) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as together:
            together.write("".join(f'#include "{entry["file"]}"\n' for entry in entries))
            together.flush()
            done = self._run(entries[0], ["-fsyntax-only", "-Werror=thread-safety", *self._precompiled], together.name)
        return done.stderr or f"{entries[0]['file']}: clang++ ends with {done.returncode}" if done.returncode else ""


def words_of(entry: dict[str, str]) -> list[str]:
    """The options of its command that do not belong to its source alone."""
    words = shlex.split(entry["command"])[1:]
    for option in "-o", "-c", "-include":
        if option in words:
            place = words.index(option)
            del words[place:place + 2]
    return words


def batches(entries: dict[str, dict[str, str]]) -> list[list[dict[str, str]]]:
    """Those of one folder with the same options, the largest batches first."""
    alike: dict[tuple, list] = {}
    for name, entry in entries.items():
        alike.setdefault((name.split("/")[0], *words_of(entry)), []).append(entry)
    found = [group[at:at + TOGETHER] for group in alike.values() for at in range(0, len(group), TOGETHER)]
    return sorted(found, key=len, reverse=True)


def find_clang() -> str | None:
    for path in map(shutil.which, ["clang++-14", "clang++"]):
        if path and "version 14." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    return None


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    build = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "build"
    texts = {str(path.relative_to(root)): path.read_text() for folder in LAYERS for path in (root / folder).rglob("*")
             if path.suffix in HEADERS | SOURCES}
    texts.pop(MUTEX, None)
    if errors := [error for name in sorted(texts) for error in find_undeclared(name, texts[name])]:
        print("\n".join(errors))
        return 1
    path = find_clang()
    if path is None:
        print("locks: skipped, there is no clang++ 14; apt-get install clang-14")
        return 77
    chosen = sources_to_read(root, texts)
    entries = {os.path.relpath(entry["file"], root): entry for entry in clang_commands(build)}
    built = {name: entries[name] for name in chosen if name in entries}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        clang = Clang(path)
        if with_torch := next((entry for entry in built.values() if " -include ATen/ATen.h" in entry["command"]), None):
            clang.precompile(with_torch, pathlib.Path(folder))
        findings = list(filter(None, pool.map(clang.findings, batches(built))))
    if findings:
        print("\n".join(findings))
        return 1
    print(f"locks: ok in {len(built)} sources")
    for name in sorted(set(chosen) - built.keys()):
        print(f"skipped: {name} is not in this build")
    return 0


if __name__ == "__main__":
    sys.exit(main())
