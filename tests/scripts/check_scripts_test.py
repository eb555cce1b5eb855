"""scripts/check_layers.py and check_map.py on small trees, each with a planted fault."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
LAYERS = ["core", "text", "model", "voice", "runtime", "data", "evaluate", "train", "cli"]


class Tree(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.root = pathlib.Path(self._folder.name)

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, script):
        done = subprocess.run([sys.executable, str(SCRIPTS / script), str(self.root)], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckLayers(Tree):
    def setUp(self):
        super().setUp()
        for folder in LAYERS:
            self.write(f"{folder}/a.h", "#pragma once\n#include <vector>\n")

    def assert_fault(self, text):
        code, output = self.check("check_layers.py")
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def test_earlier_folders_may_be_included(self):
        self.write("cli/b.cpp", "".join(f'#include "{folder}/a.h"\n' for folder in LAYERS))
        self.assertEqual(self.check("check_layers.py")[0], 0)

    def test_every_later_folder_is_refused(self):
        for index, folder in enumerate(LAYERS[:-1]):
            for later in LAYERS[index + 1:]:
                with self.subTest(folder=folder, later=later):
                    self.write(f"{folder}/sub/b.cpp", f'\n  #  include "{later}/a.h"\n')
                    self.assert_fault(f"{folder}/sub/b.cpp:2: {folder}/ may not include {later}/")
                    (self.root / folder / "sub/b.cpp").unlink()

    def test_tests_are_refused(self):
        self.write("cli/b.cu", '#include "tests/fakes/x.h"\n')
        self.assert_fault("cli/ may not include tests/")

    def test_angle_brackets_count(self):
        self.write("core/b.h", "#include <model/a.h>\n")
        self.assert_fault("core/ may not include model/")

    def test_libtorch_in_core(self):
        self.write("core/b.h", "#include <c10/util/Half.h>\n")
        self.assert_fault("core/ does without LibTorch")

    def test_a_missing_folder(self):
        (self.root / "data/a.h").unlink()
        self.assert_fault("data/: no sources there")


README = """# x
## File map
```text
README.md    this
core/        words
  a.h/.cpp   a
  b.h        b
data/        everything in it
tests/       tests
  core/      of core
*.txt        lists
x/y/         deep
```
"""


class CheckMap(Tree):
    def setUp(self):
        super().setUp()
        self.write("README.md", README)
        for name in ["core/a.h", "core/a.cpp", "core/b.h", "data/x.h", "data/sub/y.h", "tests/core/t.cpp",
                     "tests/CMakeLists.txt", "x/y/z.h", "one.txt", "two.txt"]:
            self.write(name)

    def assert_fault(self, text):
        code, output = self.check("check_map.py")
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def test_a_true_map(self):
        self.assertEqual(self.check("check_map.py"), (0, "map: ok\n"))

    def test_files_that_the_map_lacks(self):
        for name, reported in [("core/c.h", "core/c.h"), ("new.md", "new.md"), ("new/x.h", "new/"), ("x/w/a", "x/w/"),
                               ("tests/data/t.cpp", "tests/data/"), (".hidden/x", ".hidden/")]:
            with self.subTest(name=name):
                self.write(name)
                self.assert_fault(f"there, but not in the map: {reported}\n")
                (self.root / name).unlink()

    def test_paths_that_are_not_there(self):
        for name in ["core/a.cpp", "core/b.h", "data", "one.txt"]:
            with self.subTest(name=name):
                moved = self.root / "build" / "moved"
                moved.parent.mkdir(exist_ok=True)
                (self.root / name).rename(moved)
                if name == "one.txt":  # two.txt still matches the pattern
                    self.assertEqual(self.check("check_map.py")[0], 0)
                else:
                    self.assert_fault(f"in the map, but not there: {name}")
                moved.rename(self.root / name)

    def test_a_path_named_twice(self):
        self.write("README.md", README.replace("*.txt", "core/        again\n*.txt"))
        self.assert_fault("twice in the map: core/")

    def test_no_map(self):
        self.write("README.md", "# x\n")
        self.assert_fault("no fenced block")

    def test_only_tracked_files_count(self):
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        subprocess.run(["git", "-C", str(self.root), "add", "."], check=True)
        self.write("answers.wav")
        self.assertEqual(self.check("check_map.py"), (0, "map: ok\n"))
        subprocess.run(["git", "-C", str(self.root), "add", "answers.wav"], check=True)
        self.assert_fault("there, but not in the map: answers.wav")


if __name__ == "__main__":
    unittest.main()
