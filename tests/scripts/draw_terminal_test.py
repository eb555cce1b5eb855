"""scripts/draw_terminal.py: what is drawn of a session, a recorded program, and that the pictures are those of the
sessions beside them."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "draw_terminal.py"


class DrawTerminal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.session, self.picture = (pathlib.Path(folder.name) / name for name in ("a.session", "a.svg"))

    def draw(self, *events, columns=20, rows=4):
        head = {"command": "x", "columns": columns, "rows": rows}
        self.session.write_text("".join(json.dumps(line) + "\n" for line in [head, *events]))
        subprocess.run([sys.executable, SCRIPT, "--draw", self.session, self.picture], check=True)
        texts = re.findall(r'<text x="([\d.]+)" y="(\d+)" fill="(#\w+)"[^>]*>([^<]*)<', self.picture.read_text())
        return [(text, colour) for _, _, colour, text in texts]

    def test_colours_and_marks(self):
        plain, dim, green = "#e6edf3", "#8b949e", "#3fb950"
        drawn = self.draw([0, "> Hi\r\n\x1b[32mA<\x1b[0m\x1b[2m b\x1b[0m"], [1, None, "while typing"], [2, "\x1b[1A\rBy"],
                          [3, None, "after Enter"])
        self.assertEqual(drawn, [("&gt; Hi", plain), ("A&lt;", green), (" b", dim), ("ByHi", plain), ("A&lt;", green), (" b", dim)])

    def test_erased_wrapped_and_scrolled(self):
        self.assertEqual(self.draw([0, "abcdef"], [1, None, ""], columns=4)[1][0], "ef")
        self.assertEqual(self.draw([0, "a\r\nb\r\nc"], [1, None, ""], rows=2), [("b", "#e6edf3"), ("c", "#e6edf3")])
        self.assertEqual(self.draw([0, "abc\r\ndef\x1b[1A\r\x1b[J"], [1, None, ""]), [])

    def test_a_recorded_program(self):
        program = "import sys; sys.stderr.write('> '); print('heard', input()); input()"
        subprocess.run([sys.executable, SCRIPT, "--record", self.session, "--type", "hey", "--type", "\\r",
                        sys.executable, "-c", program], check=True, timeout=60)
        head, *events = map(json.loads, self.session.read_text().splitlines())
        self.assertEqual([event[2] for event in events if event[1] is None], ["while typing", "after Enter"])
        self.assertIn("heard hey", "".join(event[1] or "" for event in events))

    def test_pictures_are_those_of_their_sessions(self):
        for session in (REPOSITORY / "docs" / "images").glob("*.session"):
            subprocess.run([sys.executable, SCRIPT, "--draw", session, self.picture], check=True)
            self.assertEqual(self.picture.read_text(), session.with_suffix(".svg").read_text(), session.name)


if __name__ == "__main__":
    unittest.main()
