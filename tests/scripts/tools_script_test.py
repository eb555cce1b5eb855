"""scripts/format.sh and tidy.sh in a small repository of their own, with planted faults."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOOD = "int one() { return 1; }\n"
UNFORMATTED = "int  one( ) { return 1; }\n"
UNTIDY = "int one(bool b) {\n  if (b) {\n    return 1;\n  } else {\n    return 1;\n  }\n}\n"  # bugprone-branch-clone


class Repository(unittest.TestCase):
    SCRIPT = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "clone"
        (self.root / "scripts").mkdir(parents=True)
        for name in [self.SCRIPT, "clang_commands.py"]:
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts")
        for name in [".clang-format", ".clang-tidy"]:
            shutil.copy(ROOT / name, self.root)
        self.bin = pathlib.Path(folder.name) / "bin"
        self.bin.mkdir()
        self.git("init", "-q", "-b", "work")
        self.write("a.cpp", GOOD)
        self.commit()

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), "-c", "user.name=x", "-c", "user.email=x", *arguments],
                       check=True, capture_output=True)

    def write(self, name, text):
        (self.root / name).write_text(text)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")

    def stand_in(self, name, version):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\necho '{name} version {version}'\n")
        path.chmod(0o755)

    def run_script(self, *options, cwd="/"):
        environment = os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        return subprocess.run([str(self.root / "scripts" / self.SCRIPT), *options], env=environment, cwd=cwd,
                              capture_output=True, text=True)

    def refused(self, done, part):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(part, done.stderr)


class Format(Repository):
    SCRIPT = "format.sh"

    def test_check_names_files_and_changes_nothing(self):
        self.write("b.h", UNFORMATTED)
        self.assertEqual(self.run_script("--check").returncode, 0, "b.h is not tracked yet")
        self.commit()
        done = self.run_script("--check")
        self.assertEqual((done.returncode, done.stdout), (1, "b.h\n"), done.stderr)
        self.assertIn("run scripts/format.sh", done.stderr)
        self.assertEqual((self.root / "b.h").read_text(), UNFORMATTED)

    def test_formats_all_or_what_is_given(self):
        for name in ["b.h", "c.cpp", "d.cu"]:
            self.write(name, UNFORMATTED)
        self.commit()
        self.assertEqual(self.run_script("b.h", cwd=self.root).returncode, 0)
        self.assertEqual([(self.root / name).read_text() for name in ["b.h", "c.cpp"]], [GOOD, UNFORMATTED])
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual([(self.root / name).read_text() for name in ["c.cpp", "d.cu"]], [GOOD, GOOD])
        self.assertEqual(self.run_script("--check").returncode, 0)

    def test_bad_options(self):
        self.refused(self.run_script("--chekc"), "unknown option --chekc")
        self.refused(self.run_script("none.cpp"), "none.cpp: no such file")
        self.assertIn("--check", self.run_script("--help").stdout)

    def test_other_versions_do_not_do(self):
        for name in ["clang-format-14", "clang-format"]:
            self.stand_in(name, "19.1.7")
        self.refused(self.run_script("--check"), "apt-get install clang-format-14")


class Tidy(Repository):
    SCRIPT = "tidy.sh"

    def compiled(self, *names):
        (self.root / "build").mkdir(exist_ok=True)
        # As CMake writes it with a header that g++ precompiled; the line is not to reach clang.
        (self.root / "build/pch").mkdir(exist_ok=True)
        (self.root / "build/pch/cmake_pch.hxx").write_text("#include <ATen/ATen.h>\n")
        (self.root / "build/pch/cmake_pch.hxx.gch").write_text("g++'s own")
        (self.root / "ATen").mkdir(exist_ok=True)
        (self.root / "ATen/ATen.h").write_text("")
        pch = f"-fpch-preprocess -Winvalid-pch -include {self.root}/build/pch/cmake_pch.hxx"
        (self.root / "build/compile_commands.json").write_text(json.dumps([
            {"directory": str(self.root), "file": str(self.root / name),
             "command": f"c++ -I. {pch} -std=c++20 -c {self.root / name}"} for name in names]))

    def test_only_what_changed_is_checked(self):
        self.write("old.cpp", UNTIDY)
        self.commit()
        self.write("b.h", GOOD)
        self.write("b.cpp", '#include "b.h"\n')
        self.commit()
        self.write("a.cpp", GOOD.replace("1", "2"))
        self.compiled("a.cpp", "b.cpp", "old.cpp")
        done = self.run_script()
        self.assertEqual((done.returncode, done.stdout), (0, "tidy: no findings in 2 of 2 changed sources\n"), done.stderr)
        done = self.run_script("--base", "HEAD~2")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("old.cpp:2:3: error:", done.stdout)
        self.assertIn("bugprone-branch-clone", done.stdout)

    def test_a_changed_header_stands_for_its_source(self):
        self.write("b.h", GOOD)
        self.write("b.cpp", UNTIDY)
        self.commit()
        self.write("b.h", "int two();\n")
        self.commit()
        self.compiled("a.cpp", "b.cpp")
        self.assertIn("b.cpp:2:3", self.run_script().stdout)

    def test_a_branch_is_compared_with_where_it_left_main(self):
        self.git("branch", "main")
        for text in (UNTIDY, UNTIDY + "\n"):
            self.write("b.cpp", text)
            self.commit()
        self.write("a.cpp", GOOD + "\n")
        self.commit()
        self.compiled("a.cpp", "b.cpp")
        self.assertEqual(self.run_script("--base", "HEAD~1").returncode, 0)
        self.assertIn("b.cpp:2:3", self.run_script().stdout)

    def test_sources_that_are_compiled_as_one_are_checked_apart(self):
        for name, text in [("b.cpp", UNTIDY), ("c.cpp", GOOD)]:
            self.write(name, text)
        self.commit()
        unity = "build/x.dir/Unity/unity_0_cxx.cxx"
        (self.root / unity).parent.mkdir(parents=True)
        self.write(unity, "".join(f'/* */\n#include "{self.root / name}"\n' for name in ("b.cpp", "c.cpp")))
        self.compiled(unity)
        done = self.run_script("--base", "HEAD~1")
        self.assertIn("b.cpp:2:3", done.stdout)
        self.assertNotIn("c.cpp", done.stdout)

    def test_what_time_leaves_out_is_named(self):
        self.write("b.cpp", UNTIDY)
        self.commit()
        self.compiled("a.cpp", "b.cpp")
        done = self.run_script("--minutes", "0")
        self.assertEqual((done.returncode, done.stdout), (0, "tidy: no findings in 0 of 1 changed sources\n"))
        self.assertIn("left out after 0 minutes: b.cpp", done.stderr)

    def test_bad_options(self):
        self.refused(self.run_script("--bsae"), "unknown option --bsae")
        self.refused(self.run_script("--base"), "--base needs a commit")
        self.refused(self.run_script("--base", "none"), "there is no commit none")
        self.refused(self.run_script("--minutes", "x"), "--minutes needs a number")
        self.refused(self.run_script(), "there is no commit HEAD~1")
        self.refused(self.run_script("--base", "HEAD"), "run scripts/build.sh first")
        self.compiled("a.cpp")
        for name in ["clang-tidy-14", "clang-tidy"]:
            self.stand_in(name, "19.1.7")
        self.refused(self.run_script("--base", "HEAD"), "apt-get install clang-tidy-14")
        self.assertIn("--base REV", self.run_script("--help").stdout)


if __name__ == "__main__":
    del Repository
    unittest.main()
