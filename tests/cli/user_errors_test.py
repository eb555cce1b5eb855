"""What a user can mend is said in one line that names it: every command, with wrong flags, files, settings and folders.

The commands are those of `predgen --help`: one without cases fails. A case is the arguments, and what its line must
name, after bars. A word with @ stands for each of several wrong things (wrong_files.py), which add what to name.
Exit code 2, nothing on stdout, no file left, whatever is wrong.

usage: user_errors_test.py [--all] [COMMAND..]     (--all: every case; otherwise one of eight, and each command's first)
"""
import itertools
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import program
from user_error_cases import CASES
from wrong_files import DEMO, WrongFiles, run

LEAKS = ("json.exception", "System error", "filesystem error", "std::", "basic_string", "what()", "Exception", ".cpp:", "failed: ")


def find_commands(*command):
    """What a help lists, with their own: "data", "data build"."""
    text = program.run(*command, "--help", check=True).stdout
    for name in re.findall(r"^  (\w+) ", text.partition("Subcommands:\n")[2].partition("\n\n")[0], re.MULTILINE):
        yield " ".join([*command, name])
        yield from find_commands(*command, name)


def cases_of(command, folder):
    """Arguments, and what the line must name."""
    for line in filter(None, map(str.strip, CASES[command].splitlines())):
        words, *parts = (part.strip() for part in f" {line} ".split("|"))
        names = {"m": DEMO, "t": folder.root, "c": folder.configs.get(command, "")}
        arguments, parts = shlex.split(words.format(**names)), [part.format(**names) for part in parts]
        kind = re.search(r"@([\w.]+)", words)
        for value, named in folder.wrong[kind[1]] if kind else [("", [])]:
            yield ([*command.split(), *(word.replace("@" + kind[1] if kind else "@", str(value)) for word in arguments)],
                   [*parts, *map(str, named)])


def problem_of(case, folder):
    arguments, parts = case
    before = set(folder.files())
    try:
        done = run(arguments, folder.root)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    left = [path for path in folder.files() if path not in before]
    for path in reversed(left):  # what is in a folder comes behind it
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    text = done.stderr.decode(errors="replace").strip()
    lines = [line for line in text.split("\n") if not line.startswith("info: ")]  # what was done before it
    if done.returncode != 2:
        return f"exit code {done.returncode}", text
    if len(lines) != 1 or done.stdout and arguments[0] != "doctor":
        return f"{len(lines)} lines on stderr, {len(done.stdout)} bytes on stdout", text
    if not lines[0].startswith("predgen: ") or len(lines[0]) > 500 or any(leak in lines[0] for leak in LEAKS):
        return "no line for users", text
    if missing := [part for part in parts if part not in lines[0]]:
        return f"does not name {missing}", text
    if left:
        return f"leaves {', '.join(map(str, left))}", text
    return "", text


def main():
    without = [command for command in ["", *find_commands()] if command not in CASES]
    if without:
        sys.exit(f"FAILED: commands without cases here: {without}")
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = WrongFiles(Path(name).resolve())
        wanted = [command for command in sys.argv[1:] if command != "--all"] or list(CASES)
        step = 1 if "--all" in sys.argv else 8
        cases = list(itertools.chain.from_iterable(
            itertools.islice(cases_of(command, folder), 0, None, step) for command in wanted))
        for case in cases:
            problem, text = problem_of(case, folder)
            print("FAILED" if problem else "ok", problem, "|", shlex.join(map(str, case[0])), "|", text, flush=True)
            failures += bool(problem)
    print(f"{len(cases)} cases, {failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
