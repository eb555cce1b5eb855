"""scripts/check_layers.py, check_odr.py, check_rules.py, check_map.py, check_recipes.py, check_places.py and
check_locks.py on small trees, each with planted faults. check_docs_test.py has check_links.py and check_figures.py."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
LAYERS = ["core", "text", "act", "kernels", "tensors", "audio", "hear", "model", "checkpoint", "voice", "runtime",
          "data", "evaluate", "train", "serve", "cli"]


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

    def test_libtorch_where_it_is_not_used(self):
        for folder in ["core", "text", "audio", "hear"]:
            with self.subTest(folder=folder):
                self.write(f"{folder}/b.h", "#include <c10/util/Half.h>\n")
                self.assert_fault(f"{folder}/ does without LibTorch")
                (self.root / folder / "b.h").unlink()

    def test_a_missing_folder(self):
        (self.root / "data/a.h").unlink()
        self.assert_fault("data/: no sources there")

    def test_subfolders_in_a_circle(self):
        self.write("model/cpu/a.cpp", '#include "model/weights/a.h"\n')
        self.write("model/weights/deep/a.cpp", '#include "model/gpu/a.h"\n')
        self.assertEqual(self.check("check_layers.py")[0], 0)
        self.write("model/gpu/a.cpp", '#include "model/cpu/a.h"\n')
        self.assert_fault("model/: subfolders include each other in a circle: model/cpu/a.cpp:1 includes "
                          "model/weights/a.h")

    def test_headers_in_a_circle_with_their_rooms_own(self):
        self.write("voice/seam.h")
        self.write("voice/zonos/zonos.h", '#include "voice/seam.h"\n')
        self.write("voice/make_voice.h", '#include "voice/zonos/zonos.h"\n')  # lists them
        self.write("voice/seam.cpp", '#include "voice/zonos/zonos.h"\n')
        self.assertEqual(self.check("check_layers.py")[0], 0)
        self.write("voice/seam.h", '#include "voice/zonos/zonos.h"\n')
        self.assert_fault("voice/: headers of folders include each other in a circle")

    def test_a_room_that_is_too_large(self):
        for folder in LAYERS:
            self.write(f"{folder}/b.cpp", "//\n" * 1000)
        self.assertEqual(self.check("check_layers.py")[0], 0)
        self.write("tests/data/b_test.cpp", "//\n" * 2000)
        share = 3002 / (len(LAYERS) * 1002 + 2000)
        self.assert_fault(f"data/: has {share:.1%} of all lines, of which a room may have 12%")


CODE = """# x
## Folder map
```text
core/        words
text/        texts
  spoken/    said
data/ bench/  two at once
tests/ docs/  tests, pages
```
"""
README = CODE.replace("  spoken/    said\n", "")


class Clone(Tree):
    """A tree in which git tracks what was written."""

    def check(self, script):
        subprocess.run(["git", "-C", str(self.root), "add", "--all"], check=True)
        return super().check(script)

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def assert_fault(self, script, text):
        code, output = self.check(script)
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)


class CheckRules(Clone):
    def assert_kept(self):
        self.assertEqual(self.check("check_rules.py"), (0, "rules: ok\n"))

    def test_lengths(self):
        self.write("core/a.cpp", "//\n" * 400)
        self.write("tests/core/a_test.cpp", "//\n" * 640)
        self.write("docs/a.md", f"{'a ' * 55}\n| {'a ' * 100}|\n```\n{'a ' * 100}\n```\n")
        self.assert_kept()
        self.write("core/a.cpp", "//\n" * 401)
        self.assert_fault("check_rules.py", "core/a.cpp:1 has 401 lines")
        self.write("tests/core/a_test.cpp", "//\n" * 641)
        self.assert_fault("check_rules.py", "tests/core/a_test.cpp:1 has 641 lines")
        self.write("docs/a.md", f"\n{'a ' * 56}\n")
        self.assert_fault("check_rules.py", "docs/a.md:2 has 112 characters")

    def test_seams(self):
        seam = "class Sink {\n public:\n  virtual ~Sink() = default;\n  virtual void write(Config config = {}) = 0;\n%s};\n"
        self.write("core/a.h", seam % "  // virtual void none() {}\n" + "class Base {\n  virtual int size() { return 0; }\n};\n")
        self.assert_kept()
        self.write("core/a.h", seam % "  virtual int64_t size() const { return 0; }\n")
        self.assert_fault("check_rules.py", "core/a.h:1 Sink is a seam, but has a body for size()")

    def test_tests_that_sleep(self):
        sleep = "std::this_thread::sleep_for(time);\n"
        self.write("core/clock.cpp", sleep)
        self.write("tests/fakes/waiting.h", sleep)
        self.assert_kept()
        self.write("tests/core/a_test.cpp", "\n" + sleep)
        self.assert_fault("check_rules.py", "tests/core/a_test.cpp:2 waits for time to pass")

    def test_global_state(self):
        self.write("core/a.cpp", "static int twice(int a);\nstruct A {\n  static constexpr int kB = 1;\n  static A make();\n};\n"
                                 "void f() {\n  static const std::vector<int> list = {1};\n}\n")
        self.assert_kept()
        for fault in ["  static std::vector<int> list;", "  static std::vector<int> list(10);", "  static int list[4];",
                      "  static std::function<void()> list;", "  static const_iterator list GUARDED_BY(mutex);",
                      "thread_local int list = 0;", "inline int list = 0;", "int list = 0;", "std::atomic<bool> list = false;"]:
            with self.subTest(fault=fault):
                self.write("core/a.cpp", f"\n{fault}\n")
                self.assert_fault("check_rules.py", "core/a.cpp:2 list is global state")


class CheckMap(Clone):
    def setUp(self):
        super().setUp()
        self.write("README.md", README)
        self.write("docs/code.md", CODE)
        for name in ["core/a.h", "text/t.h", "text/spoken/said.h", "data/x.h", "bench/b.cpp", "tests/core/t.cpp"]:
            self.write(name)

    def test_a_true_map(self):
        self.assertEqual(self.check("check_map.py"), (0, "map: ok\n"))

    def test_folders_that_the_map_lacks(self):
        for name, reported in [("new/sub/x.h", "new/"), (".hidden/x", ".hidden/"), ("text/new/x.h", "text/new/"),
                               ("core/sub/deep/x.h", "core/sub/")]:
            with self.subTest(name=name):
                self.write(name)
                self.assert_fault("check_map.py", f"docs/code.md: there, but not in the map: {reported}\n")
                (self.root / name).unlink()

    def test_the_readme_has_the_top_folders(self):
        self.write("new/x.h")
        self.assert_fault("check_map.py", "README.md: there, but not in the map: new/\n")

    def test_files_and_folders_of_other_folders_need_no_line(self):
        for name in ["LICENSE", "core/b.h", "text/spoken/deep/x.h", "tests/text/t.cpp"]:
            self.write(name)
        self.assertEqual(self.check("check_map.py"), (0, "map: ok\n"))

    def test_folders_that_are_not_there(self):
        for name in ["core/a.h", "text/spoken/said.h", "bench/b.cpp"]:
            with self.subTest(name=name):
                (self.root / name).unlink()
                self.assert_fault("check_map.py", f"in the map, but not there: {name.rpartition('/')[0]}/\n")
                self.write(name)

    def test_a_folder_named_twice(self):
        self.write("docs/code.md", CODE.replace("tests/", "core/        again\ntests/"))
        self.assert_fault("check_map.py", "twice in the map: core/")

    def test_lines_that_are_no_folders(self):
        for old, new, text in [("core/ ", "core/a.h ", "folders only"), ("  spoken/", "    spoken/", "too far"),
                               ("tests/ ", "  tests/ ", "too far")]:
            with self.subTest(new=new):
                self.write("docs/code.md", CODE.replace(old, new))
                self.assert_fault("check_map.py", text)

    def test_no_map(self):
        for page in ["README.md", "docs/code.md"]:
            self.write(page, "# x\n")
            self.assert_fault("check_map.py", f"{page}: no fenced block")
            self.write(page, CODE)

    def test_only_tracked_files_count(self):
        self.check("check_map.py")
        self.write("runs/answers.wav")
        self.assertEqual(super(Clone, self).check("check_map.py"), (0, "map: ok\n"))
        self.assert_fault("check_map.py", "there, but not in the map: runs/")

    def test_without_git_nothing_is_known(self):
        shutil.rmtree(self.root / ".git")
        code, output = super(Clone, self).check("check_map.py")
        self.assertEqual(code, 77)
        self.assertIn("no git clone", output)


class CheckOdr(Clone):
    def assert_clash(self, one, other, name):
        self.write("core/one.h", one)
        self.write("cli/two.cpp", other)
        self.assert_fault("check_odr.py", f"{name} is defined in 2 files: cli/two.cpp:1, core/one.h:1\n")

    def assert_good(self, one, other):
        self.write("core/one.h", one)
        self.write("cli/two.cpp", other)
        self.assertEqual(self.check("check_odr.py"), (0, "odr: ok\n"))

    def test_types_of_one_name(self):
        self.assert_clash("namespace a {struct T { int x; };}", "namespace a {class T final : public B<int> {};}", "a::T")
        self.assert_clash("namespace a { namespace b {enum class T : int { k }; }}", "namespace a::b {union T { int x; };}", "a::b::T")
        self.assert_clash("struct T {};", "void f() { if (1) { } } struct T : B { };", "T")
        self.assert_clash("namespace a { template <> struct T<int> {};}", "namespace a {template <> struct T< int > {};}", "a::T<int>")
        self.assert_clash("const char* a = \"{ // \"; const char b = '{'; struct T {};", "struct T {}; // }", "T")

    def test_types_that_do_not_meet(self):
        for other in ("namespace b { struct T {}; }", "namespace a { namespace { struct T {}; } }", "namespace a { struct T; }",
                      "namespace a { void f() { struct T {}; } }", "namespace a { struct B { struct T {}; }; }",
                      "namespace a { struct B::T {}; }", "namespace a { struct T x = make({}); struct T f() { return {}; } }",
                      "// namespace a { struct T {}; }", "#define A namespace a { struct T {}; }",
                      "namespace a { template <> struct T<int> {}; }"):
            with self.subTest(other=other):
                self.assert_good("namespace a { struct T {}; }", other)

    def test_branches_of_one_file(self):
        self.assert_good("#if X\nstruct T { int x; };\n#else\nstruct T {};\n#endif\n", "")


RECIPES = """# Contributing
Text with `no/recipe.h` in it.
## Recipes
### Add a thing
* `core/<name>.h/.cpp` and `core/thing.h/.cpp`
* `core/*_test.cpp`, with `option=value`, `--flag`, `a::b()` and `thing.h`
```bash
not/a/path.sh
```
## Habits
`not/looked/at.h`
"""


class CheckRecipes(Clone):
    def setUp(self):
        super().setUp()
        self.write("CONTRIBUTING.md", RECIPES)
        for name in ["core/thing.h", "core/thing.cpp", "core/one_test.cpp"]:
            self.write(name)

    def test_true_recipes(self):
        self.assertEqual(self.check("check_recipes.py"), (0, "recipes: ok\n"))

    def test_files_that_are_not_there(self):
        for name in ["core/thing.h", "core/thing.cpp", "core/one_test.cpp"]:
            with self.subTest(name=name):
                (self.root / name).unlink()
                pattern = "core/*_test.cpp" if "test" in name else name
                self.assert_fault("check_recipes.py", f'recipe "Add a thing": there is no {pattern}\n')
                self.write(name)

    def test_a_placeholder_stands_for_a_name_only(self):
        self.write("core/deep/other_test.cpp")
        for path in ["cores/<name>", "core/<name>_model", "core/<name>/<name>"]:
            with self.subTest(path=path):
                self.write("CONTRIBUTING.md", RECIPES.replace("core/<name>", path))
                self.assert_fault("check_recipes.py", f"there is no {path}.h\n")

    def test_lists_that_a_recipe_names_are_there(self):
        self.write("core/thing.cpp", "int make_things() {}\n")
        named = RECIPES.replace("and `core/thing.h/.cpp`", "and `make_things()` in `core/thing.cpp`")
        self.write("CONTRIBUTING.md", named)
        self.assertEqual(self.check("check_recipes.py"), (0, "recipes: ok\n"))
        self.write("CONTRIBUTING.md", named.replace("make_things", "make_others"))
        self.assert_fault("check_recipes.py", "core/thing.cpp has no make_others\n")

    def test_words_of_a_file(self):
        self.write("core/thing.cpp", "int make_things() {}\nclass Thing { int size(); };\n")
        for words, missing in [("`%s()` of `core/thing.cpp`", "made"), ("`%s` in\n  `core/thing.h/.cpp`", "Other"),
                               ("`%s`, `Thing` and `make_things()` of `core/thing.cpp`", "first"),
                               ("`Thing`,\n`make_things()` or `Thing::%s()` in `core/thing.cpp`", "last")]:
            with self.subTest(words=words):
                for word in ["size", missing]:
                    self.write("CONTRIBUTING.md", RECIPES.replace("and `core/thing.h/.cpp`", f"and {words % word}"))
                    if word == "size":
                        self.assertEqual(self.check("check_recipes.py"), (0, "recipes: ok\n"))
                path = re.search(r"`(core/.*)`", words)[1]
                self.assert_fault("check_recipes.py", f'recipe "Add a thing": {path} has no {missing}\n')

    def test_a_recipe_names_few_files(self):
        names = [f"core/a{index}" for index in range(10)]
        others = ["tests/core/a_test.cpp", "docs/a.md", "core/CMakeLists.txt", "cmake/a.cmake", "core/README.md"]
        for name in others + [name + ending for name in names for ending in (".h", ".cpp")]:
            self.write(name)
        few = [f"{name}.h/.cpp" for name in names[:9]] + ["core/a3.h", "core/"] + others  # RECIPES names three more

        def write(paths):
            listed = " ".join(f"`{path}`" for path in paths)
            self.write("CONTRIBUTING.md", RECIPES.replace("### Add a thing", f"### Add a thing\n{listed}"))

        write(few)
        self.assertEqual(self.check("check_recipes.py"), (0, "recipes: ok\n"))
        write(few + ["core/a9.cpp"])
        self.assert_fault("check_recipes.py", 'recipe "Add a thing": names 13 files, of which a recipe may have 12: core/*_test,')

    def test_recipes_without_files(self):
        self.write("CONTRIBUTING.md", RECIPES.replace("## Habits", "### Add nothing\nSee elsewhere.\n## Habits"))
        self.assert_fault("check_recipes.py", 'recipe "Add nothing": names no file')

    def test_configurations_say_what_they_are(self):
        name = "configs/train/a.yaml"
        lines = ["# What it is for: a test.\n", "#   More of it.\n", f"# Command:  predgen train --config {name}\n",
                 "# Hardware: any.\n"]
        self.write(name, "".join(lines) + "model: x  # scripts/of_the_user.py\n")
        self.write("docs/a.md", "Run `predgen train --config configs/train/a.yaml`; see configs/*/a.yaml.\n")
        self.assertEqual(self.check("check_recipes.py"), (0, "recipes: ok\n"))
        for index in (0, 2, 3):
            with self.subTest(without=lines[index]):
                self.write(name, "".join(lines[:index] + lines[index + 1:]) + "model: x\n")
                self.assert_fault("check_recipes.py", f"{name}: its head lacks one of")
        self.write(name, "".join(lines).replace("a.yaml", "b.yaml"))
        self.assert_fault("check_recipes.py", f"{name}: its command does not name it\n{name}: there is no configs/train/b")
        self.write(name, "".join(lines) + "# As scripts/gone.sh says.\n")
        self.assert_fault("check_recipes.py", f"{name}: there is no scripts/gone.sh\n")

    def test_configurations_that_pages_name_are_there(self):
        for page in ["README.md", "docs/a.md"]:
            self.write(page, "predgen eval --config configs/eval/gone.yaml, and configs/data/gone*.yaml\n")
            self.assert_fault("check_recipes.py", f"{page}: there is no configs/data/gone*.yaml\n"
                              f"{page}: there is no configs/eval/gone.yaml\n")

    def test_no_recipes(self):
        self.write("CONTRIBUTING.md", "# x\n")
        self.assert_fault("check_recipes.py", 'no section "Recipes"')


class CheckPlaces(Tree):
    """A build of one C file, by ninja, whose header lies here or there."""

    def build(self, header):
        self.write("build/build.ninja", (
            "rule cc\n  command = cc -I$folder -MD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n"
            f"build a.o: cc {self.root}/source/a.c\n  folder = {header.parent}\n"))
        self.write("source/a.c", f'#include "{header.name}"\n')
        self.write(str(header), "typedef int number;\n")
        subprocess.run(["ninja", "-C", str(self.root / "build")], check=True, capture_output=True)
        done = subprocess.run([sys.executable, str(SCRIPTS / "check_places.py"), str(self.root / "build"), str(self.root / "source")],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_a_header_of_the_repository(self):
        self.assertEqual(self.build(self.root / "source" / "number.h")[0], 0)

    def test_a_header_from_elsewhere(self):
        code, output = self.build(self.root / "elsewhere" / "number.h")
        self.assertEqual(code, 1, output)
        self.assertIn("elsewhere/number.h: a header that set-up does not bring", output)

    def test_a_build_without_records(self):
        self.write("build/build.ninja", "")
        done = subprocess.run([sys.executable, str(SCRIPTS / "check_places.py"), str(self.root / "build")],
                              capture_output=True, text=True)
        self.assertIn("no header", done.stderr)
        self.assertNotEqual(done.returncode, 0)


HEADER = """#pragma once
#include "core/mutex.h"
class Counter {
 public:
  int count();
  void add_locked(int more) REQUIRES(mutex_) { count_ += more; }
  predgen::Mutex& mutex() RETURNS_MUTEX(mutex_) { return mutex_; }
 private:
  predgen::Mutex mutex_;
  int count_ GUARDED_BY(mutex_) = 0;
};
"""
GOOD = """#include "serve/counter.h"
int Counter::count() {
  const predgen::Lock lock(mutex_);
  return count_;
}
"""
USER = """#include "serve/counter.h"
void add(Counter& counter) {
  const predgen::Lock lock(counter.mutex());
  counter.add_locked(2);
}
"""
LOCK = "  const predgen::Lock lock("


class CheckLocks(Tree):
    def setUp(self):
        super().setUp()
        shutil.copytree(SCRIPTS.parent / "core", self.root / "core", ignore=lambda _, names: set(names) - {"mutex.h"})
        (self.root / "build").mkdir()
        self.write("serve/counter.h", HEADER)
        self.write("serve/counter.cpp", GOOD)
        self.write("cli/user.cpp", USER)
        self.write("cli/other.cpp", '#include "serve/counter.h"\nvoid other() {}\n')

    def check(self, script="check_locks.py"):
        names = [str(path.relative_to(self.root)) for path in self.root.rglob("*.cpp")]
        (self.root / "build/compile_commands.json").write_text(json.dumps([
            {"directory": str(self.root / "build"), "file": str(self.root / name),
             "command": f"c++ -I{self.root} -fpch-preprocess -std=c++20 -o {name}.o -c {self.root / name}"} for name in names]))
        return super().check(script)

    def assert_fault(self, *texts):
        code, output = self.check()
        self.assertEqual(code, 1, output)
        for text in texts:
            self.assertIn(text, output)

    def needs_clang(self):
        if not shutil.which("clang++-14"):
            self.skipTest("there is no clang++ 14")

    def test_good_locks(self):
        self.needs_clang()
        self.assertEqual(self.check(), (0, "locks: ok in 2 sources\n"))  # other.cpp names nothing that is guarded

    def test_a_member_without_its_mutex(self):
        self.needs_clang()
        self.write("serve/counter.cpp", GOOD.replace(LOCK + "mutex_);", ""))
        self.assert_fault("serve/counter.cpp:4:10: error: reading variable 'count_' requires holding mutex 'mutex_'")

    def test_a_function_that_requires_a_mutex(self):
        self.needs_clang()
        self.write("cli/user.cpp", USER.replace(LOCK + "counter.mutex());", ""))
        self.assert_fault("cli/user.cpp:4:11: error: calling function 'add_locked' requires holding mutex")

    def test_a_header_that_no_source_of_its_own_reads(self):
        self.needs_clang()
        self.write("serve/lone.h", HEADER.replace("Counter", "Lone").replace("int count();", "int count() { return count_; }"))
        self.write("cli/other.cpp", '#include "serve/lone.h"\n')
        self.assert_fault("serve/lone.h:5:24: error: reading variable 'count_'")

    def test_a_wait_whose_condition_is_asked_without_the_mutex(self):
        self.needs_clang()
        wait = ("#include <condition_variable>\n" + GOOD).replace(
            "return count_", "std::condition_variable_any changed; changed.wait(lock, [&]() REQUIRES(mutex_) { return count_ > 0; }); return 1")
        wait = wait.replace("const predgen::Lock", "predgen::Lock")
        self.write("serve/counter.cpp", wait)
        self.assertEqual(self.check()[0], 0)
        self.write("serve/counter.cpp", wait.replace("REQUIRES(mutex_) ", ""))
        self.assert_fault("reading variable 'count_' requires holding mutex")

    def test_sources_that_are_not_in_the_build_are_named(self):
        self.needs_clang()
        self.write("model/gpu.cu", USER)
        self.assertEqual(self.check(), (0, "locks: ok in 2 sources\nskipped: model/gpu.cu is not in this build\n"))

    def test_mutexes_that_the_analysis_does_not_know(self):
        for kind in ["std::mutex", "mutable std::shared_mutex", "static std::recursive_mutex", "std::timed_mutex"]:
            with self.subTest(kind=kind):
                self.write("train/a.h", f"class A {{\n  {kind} mutex_;\n}};\n")
                self.assert_fault("train/a.h:2: the analysis does not know this mutex: take one of core/mutex.h")

    def test_mutexes_that_guard_nothing(self):
        for line in ["  Mutex own_;", "  mutable SharedMutex own_;", "  static Mutex own_;  // the lock"]:
            with self.subTest(line=line):
                self.write("train/a.h", f"class A {{\n{line}\n  int a GUARDED_BY(other_);\n}};\n")
                self.assert_fault("train/a.h:2: nothing is GUARDED_BY(own_)")
        self.write("train/a.h", "class A {\n  Mutex own_;  // guards the library\n};\n")
        self.assertNotEqual(self.check()[0], 1)

    def test_without_clang_only_declarations_are_checked(self):
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, PATH=path)
        os.environ["PATH"] = "/no-such-folder"
        self.write("serve/counter.cpp", GOOD.replace(LOCK + "mutex_);", ""))
        self.assertEqual(self.check(), (77, "locks: skipped, there is no clang++ 14; apt-get install clang-14\n"))
        self.write("train/a.h", "std::mutex mutex;\n")
        self.assert_fault("train/a.h:1:")


if __name__ == "__main__":
    unittest.main()
