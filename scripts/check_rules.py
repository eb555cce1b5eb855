"""Fails where the tree breaks a rule of CONTRIBUTING.md that a script can check: a file that is too long, a line of a
document that is too wide, a seam with a default body, a C++ test that waits for time to pass, global state.

usage: check_rules.py REPOSITORY
"""
import pathlib
import re
import sys

from check_map import tracked_files

SOURCES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".js"}
CPP = {".h", ".cpp", ".cu", ".cuh"}
MOST_LINES, MOST_LINES_OF_A_TEST = 400, 640
WIDEST = 110  # characters in a line of a document; tables and code have their own

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CLASS = re.compile(r"\b(?:class|struct)\s+(\w+)[^;{()]*\{")
BODY = re.compile(r"virtual\s+([^;{}]*\)[\s\w]*)\{")
SLEEP = re.compile(r"\b(?:this_thread::sleep_\w+|usleep|nanosleep|::sleep)\b")
# A declaration that ends in =, ;, {, [ or (value. A function has only a type's name or a reference in parentheses,
# so what has anything else there is not seen as a variable.
VARIABLE = (r"(?!(?:const|constexpr|using|namespace|class|struct|enum|typedef|template|return|extern|friend|static_assert)\b)"
            r"(?:[\w:]+(?:<[^;{}()]*(?:\(\))?[^;{}()]*>)?\s*[*&]?\s+[*&]?)+?(\w+)(?:\[[^\]]*\])?\s*(?:GUARDED_BY\(\w+\)\s*)?(?:=[^=]|\{|;|\(\d)")
STATIC = [re.compile(r"^\s*(?:inline\s+|thread_local\s+)*static\s+(?:inline\s+|thread_local\s+)*" + VARIABLE, re.MULTILINE),
          re.compile(r"^\s*thread_local\s+(?!static\b)" + VARIABLE, re.MULTILINE),
          re.compile(r"^(?:inline\s+|volatile\s+)+" + VARIABLE, re.MULTILINE),
          re.compile(r"^(?:std::atomic<\w+>|int|bool|int64_t|std::mutex|Mutex|std::string|[A-Z]\w+)\s+(g?_?\w+)\s*(?:=[^=]|\{\}|;)", re.MULTILINE)]

# What a rule allows, and why.
SLEEPERS = {"tests/fakes/waiting.h": "says what for"}
GLOBALS = {"bench/row_products.cpp": "keeps the compiler from leaving reads out",
           "cli/interrupt.cpp": "what a signal handler reaches",
           "cli/terminal/raw_terminal.cpp": "what a signal handler reaches",
           "cli/chat_screen.cpp": "loggers that a thread may be in still",
           "data/hdf5_file.cpp": "the lock of the library HDF5, which is not thread-safe",
           "hear/asr/failure_report.cpp": "what a library's _Exit() reaches",
           "voice/espeak/program/main.cpp": "the library's voice, in a process of its own",
           "model/gpu/captured_graph_cuda.cpp": "LibTorch's generator of all graphs has no lock",
           "model/gpu/gpu_support.cpp": "what each GPU can run, asked once",
           "text/grammar/compiled_grammar.cpp": "where the messages of a library go, which it gives no context",
           "kernels/threads/thread_team.cpp": "the program's threads",
           "kernels/threads/thread_team.cpp": "how long this thread has slept",
           "voice/zonos/zonos_model.cpp": "numbers caches"}


def end_of_block(text: str, begin: int) -> int:
    """The place after the '}' that closes the '{' before `begin`."""
    depth = 1
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def find_default_bodies(text: str):
    for found in CLASS.finditer(text):
        body = text[found.end():end_of_block(text, found.end())].replace("= {}", "")
        if not re.search(r"virtual\s[^;{}]*=\s*0\s*;", body):
            continue
        for function in BODY.finditer(body):
            if "~" not in function[1]:
                yield found.start(), f"{found[1]} is a seam, but has a body for {function[1].split('(')[0].split()[-1]}()"


def find_wide_lines(text: str):
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_prose = not is_code and not line.startswith("    ") and not line.lstrip().startswith("|")
        # One word, or `code` with blanks, cannot be broken.
        if is_prose and len(line) > WIDEST and len(re.sub(r"`[^`]*`", "x", line).split()) > 2:
            yield number, f"has {len(line)} characters, of which a line has at most {WIDEST}"


def faults_of(name: str, text: str):
    path = pathlib.PurePosixPath(name)
    is_test = path.parts[0] == "tests"
    if path.suffix == ".md":
        yield from find_wide_lines(text)
    if path.suffix in SOURCES:
        most = MOST_LINES_OF_A_TEST if is_test else MOST_LINES
        if (count := len(text.splitlines())) > most:
            yield 1, f"has {count} lines, of which it may have {most}: it is more than one idea"
    if path.suffix not in CPP:
        return
    code = COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    line_of = lambda place: code.count("\n", 0, place) + 1
    if not is_test:
        for place, fault in find_default_bodies(code):
            yield line_of(place), fault
        if name not in GLOBALS:
            for place, variable in sorted({(found.start(1), found[1]) for one in STATIC for found in one.finditer(code)}):
                yield line_of(place), f"{variable} is global state: pass it in"
    elif name not in SLEEPERS:
        for found in SLEEP.finditer(code):
            yield line_of(found.start()), "waits for time to pass: wait for what it is about (tests/fakes/waiting.h)"


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    faults = 0
    for name in tracked_files(root):
        path = root / name
        if path.suffix not in SOURCES | {".md"}:
            continue
        for line, fault in faults_of(name, path.read_text()):
            print(f"{name}:{line} {fault}")
            faults += 1
    print("rules: ok" if faults == 0 else f"rules: {faults} broken")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
