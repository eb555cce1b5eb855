"""Records a program at a terminal, and draws moments of the session as a picture (SVG).

usage: draw_terminal.py --record SESSION --type KEYS [--type KEYS ..] [--columns N] [--rows N] PROGRAM [ARGUMENT ..]
       draw_terminal.py --draw SESSION OUTPUT.svg

  --record   runs PROGRAM, types each KEYS (\\r is Enter) like a person once nothing has been drawn for a while,
             and marks a moment after each; then sends Ctrl-D. SESSION gets what was drawn, with times
  --draw     the screen at each marked moment, one below the other. The same session gives the same picture
"""
import argparse
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from xml.sax.saxutils import escape

SECONDS_PER_KEY, QUIET, LONGEST = 0.1, 3.0, 60.0
SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b([78])")
COLOURS = {"": "#e6edf3", "2": "#8b949e", "32": "#3fb950"}  # plain, dim, green
WIDTH, HEIGHT, MARGIN, CAPTION = 8.4, 19, 14, 26  # of a character, a row, in pixels


def record(options) -> None:
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", options.rows, options.columns, 0, 0))
    process = subprocess.Popen(options.program, stdin=terminal, stdout=terminal, stderr=terminal,
                               env={**os.environ, "TERM": "xterm"}, start_new_session=True)
    os.close(terminal)
    begin, events, drawn = time.monotonic(), [], b""

    def read_for(seconds: float) -> bool:
        """Whether anything was drawn."""
        nonlocal drawn
        if not select.select([screen], [], [], seconds)[0]:
            return False
        try:
            drawn += os.read(screen, 65536)
        except OSError:  # the program has ended
            return False
        text = drawn.decode(errors="ignore")
        drawn = drawn[len(text.encode()):]
        events.append([round(time.monotonic() - begin, 2), text])
        return True

    def wait_for_quiet() -> None:
        end = time.monotonic() + LONGEST
        while read_for(QUIET) and time.monotonic() < end:
            pass

    while not any("> " in text for _, text in events) and process.poll() is None:
        read_for(QUIET)
    for keys in options.type:
        keys = keys.replace("\\r", "\r")
        for key in keys:
            os.write(screen, key.encode())
            end = time.monotonic() + SECONDS_PER_KEY
            while (left := end - time.monotonic()) > 0:
                read_for(left)
        wait_for_quiet()
        events.append([round(time.monotonic() - begin, 2), None, "after Enter" if keys.endswith("\r") else "while typing"])
    os.write(screen, b"\x04")
    end = time.monotonic() + LONGEST
    while process.poll() is None and time.monotonic() < end:
        read_for(0.2)  # what is not read may keep it from ending
    process.wait(1)
    with open(options.record, "w") as file:
        head = {"command": " ".join(["predgen", *options.program[1:]]), "columns": options.columns, "rows": options.rows}
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in [head, *events])


class Screen:
    """As much of a terminal as `predgen` needs to draw."""

    def __init__(self, columns: int, rows: int):
        self.columns, self.cells = columns, [[] for _ in range(rows)]
        self.row = self.column = 0
        self.style, self.kept = "", (0, 0)

    def next_row(self) -> None:
        if self.row + 1 == len(self.cells):
            self.cells.append(self.cells.pop(0).clear() or [])
        else:
            self.row += 1

    def put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.next_row()
        elif character >= " ":
            if self.column == self.columns:
                self.column = 0
                self.next_row()
            row = self.cells[self.row]
            row += [(" ", "")] * (self.column + 1 - len(row))
            row[self.column] = (character, self.style)
            self.column += 1

    def obey(self, arguments: str, command: str) -> None:
        count = int(arguments) if arguments.isdigit() else 1
        if command == "A":
            self.row = max(self.row - count, 0)
        elif command == "B":
            self.row = min(self.row + count, len(self.cells) - 1)
        elif command == "C":
            self.column = min(self.column + count, self.columns - 1)
        elif command in "JK":
            del self.cells[self.row][self.column:]
            for row in self.cells[self.row + 1:] if command == "J" else []:
                row.clear()
        elif command == "m":
            self.style = arguments if arguments in COLOURS else ""
        elif command == "7":
            self.kept = self.row, self.column
        elif command == "8":
            self.row, self.column = self.kept

    def draw(self, text: str) -> None:
        place = 0
        for sequence in SEQUENCE.finditer(text):
            for character in text[place:sequence.start()]:
                self.put(character)
            self.obey(sequence[1] or "", sequence[2] or sequence[3])
            place = sequence.end()
        for character in text[place:]:
            self.put(character)

    def runs(self) -> list[list[tuple[int, str, str]]]:
        """For each row, except empty ones at the end: column, style and text of each piece in one style."""
        rows = []
        for cells in self.cells:
            runs = []
            for column, (character, style) in enumerate(cells):
                if runs and runs[-1][1] == style:
                    runs[-1][2] += character
                else:
                    runs.append([column, style, character])
            rows.append([tuple(run) for run in runs if run[2].strip()])
        while rows and not rows[-1]:
            rows.pop()
        return rows


def draw(session: str) -> str:
    with open(session) as file:
        head, *events = map(json.loads, file)
    screen, panels = Screen(head["columns"], head["rows"]), []
    for event in events:
        if event[1] is None:
            panels.append((event[2], screen.runs()))
        else:
            screen.draw(event[1])
    width = round(2 * MARGIN + WIDTH * head["columns"])
    shapes, top = [], MARGIN
    for caption, rows in panels:
        shapes.append(f'<text x="{MARGIN}" y="{top + 14}" class="caption">{escape(caption)}</text>')
        top += CAPTION
        height = HEIGHT * len(rows) + MARGIN
        shapes.append(f'<rect x="{MARGIN // 2}" y="{top - 4}" width="{width - MARGIN}" height="{height}" rx="6" '
                      'fill="#161b22"/>')
        for number, row in enumerate(rows):
            for column, style, text in row:
                shapes.append(f'<text x="{MARGIN + column * WIDTH:g}" y="{top + HEIGHT * number + 16}" '
                              f'fill="{COLOURS[style]}" textLength="{len(text) * WIDTH:g}" '
                              f'xml:space="preserve">{escape(text)}</text>')
        top += height + MARGIN // 2
    shapes.append(f'<text x="{MARGIN}" y="{top + 14}" class="caption">{escape(head["command"])}</text>')
    height = top + CAPTION
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
            "<style>text { font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace } "
            ".caption { font: 12px sans-serif; fill: #8b949e }</style>\n"
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n' + "\n".join(shapes) + "\n</svg>\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record")
    parser.add_argument("--draw", nargs=2)
    parser.add_argument("--type", action="append", default=[])
    parser.add_argument("--columns", type=int, default=84)
    parser.add_argument("--rows", type=int, default=14)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.draw:
        with open(options.draw[1], "w") as file:
            file.write(draw(options.draw[0]))
    elif options.record and options.program:
        record(options)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
