"""Without the reference data, what needs it is skipped by name and the rest of its test runs.

usage: without_shared_test.py FOLDER    (of the test programs)
"""
import contextlib
import importlib
import io
import os
import pathlib
import re
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = pathlib.Path(sys.argv.pop())
os.environ["PREDGEN_SHARED"] = str(TESTS / "no-such-folder")
os.environ.pop("GTEST_OUTPUT", None)  # a report of the whole program is there
# Scripts that ask for the reference data, and the function of theirs that does.
PARTS = {"data/data_check.py": "shared_conversations", "evaluate/grading_parity.py": "real_cases",
         "text/tokenizer_parity.py": "shared_vocabularies", "voice/zonos/phonemes_parity.py": "shared_sentences"}
ONLY_WHOLE = {"checkpoint/gguf_parity.py"}  # its slow form has more prompts
TEST = re.compile(r"^TEST(?:_F)?\((\w+), (\w+)\)|PREDGEN_SHARED_OR_SKIP\(", re.MULTILINE)


class WithoutShared(unittest.TestCase):
    def test_scripts(self):
        for name, function in PARTS.items():
            with self.subTest(name):
                script = TESTS / name
                sys.path.insert(0, str(script.parent))
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    self.assertEqual(list(getattr(importlib.import_module(script.stem), function)()), [])
                self.assertRegex(said.getvalue(), r"^skipped: .* of the reference data, there is no .*no-such-folder")

    def test_no_script_is_forgotten(self):
        asking = {str(file.relative_to(TESTS)) for file in TESTS.rglob("*.py")
                  if 'get("PREDGEN_SHARED"' in file.read_text()} - {"scripts/without_shared_test.py"}
        self.assertEqual(asking, PARTS.keys() | ONLY_WHOLE)

    def test_programs(self):
        rooms = {}
        for file in TESTS.rglob("*_test.cpp"):
            case = None
            for found in TEST.finditer(file.read_text()):
                if found[1]:
                    case = f"{found[1]}.{found[2]}"
                else:
                    rooms.setdefault(file.relative_to(TESTS).parts[0], set()).add(case)
        self.assertTrue(rooms)
        for room, cases in rooms.items():
            done = subprocess.run([PROGRAMS / f"{room}_test", f"--gtest_filter={':'.join(cases)}"], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            skipped = set(re.findall(r"no reference data: .*\n+\[  SKIPPED \] (\S+)", done.stdout))
            self.assertEqual(skipped, cases, done.stdout)


if __name__ == "__main__":
    unittest.main()
