"""Counts single tests, not only ctest's programs, and names every skipped one, including parts of Python checks.
Tests that only add reference data (tests/fakes/shared_data.h) are listed separately: without that data, every part of
the repository still has a test. Then the slowest tests, and where the time went.

usage: summarize_tests.py BUILD BEGAN ENDED

BUILD has .ninja_log, of a build that began and ended at these seconds, and test-results/ with ctest.xml and one JSON
report for each gtest program.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

NUM_SLOWEST = 20


def kind_of_step(output: str) -> str:
    """What a step of the build makes, by its output."""
    if not output.endswith((".o", ".gch")):
        return "libraries, links"
    return "sources of tests" if output.startswith("tests/") else "sources of predgen"


def kind_of_test(command: list[str], root: pathlib.Path) -> str:
    """What a test is, by its program or script."""
    paths = [pathlib.Path(word) for word in command]
    script = next((path for path in paths if path.suffix == ".py" and path.is_relative_to(root)), None)
    if script is None:
        return "C++ programs" if paths[0].name.endswith("_test") else "others"
    if script.stem.endswith("_parity"):
        return "parity with Python references"
    folder = script.relative_to(root).parts[:2]
    if folder[0] == "scripts":
        return "checks of sources and pages"
    return {"cli": "commands", "scripts": "tests of scripts"}.get(folder[1], "others")


def print_seconds(title: str, steps: list[tuple[str, float]]) -> None:
    """Seconds and numbers of steps, given as (kind, seconds), added up by kind."""
    kinds = collections.defaultdict(list)
    for kind, seconds in steps:
        kinds[kind].append(seconds)
    print(title)
    for kind, values in sorted(kinds.items(), key=lambda item: -sum(item[1])):
        print(f"{sum(values):8.0f} s  {kind} ({len(values)})")


build = pathlib.Path(sys.argv[1])
build_began, build_ended = map(float, sys.argv[2:])
folder = build / "test-results"
cases = list(ElementTree.parse(folder / "ctest.xml").getroot().iter("testcase"))
reasons = {}  # why a program's tests were skipped: what it printed, for its JSON has none
for case in cases:
    found = re.findall(r": Skipped\n(.*)\n+\[  SKIPPED \] (\S+)", case.findtext("system-out") or "")
    reasons |= {f"{case.get('name')}_test: {name}": reason for reason, name in found}
num_run = 0
skipped, failed = [], []
for path in sorted(folder.glob("*.json")):
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            name = f"{path.stem}: {suite['name']}.{case['name']}"
            num_run += 1
            if case.get("result") == "SKIPPED":
                skipped.append(name + (f" ({reasons[name]})" if name in reasons else ""))
            if case.get("failures"):
                failed.append(name)
programs = {path.stem.removesuffix("_test") for path in folder.glob("*.json")}
for case in cases:
    if case.get("name") in programs:
        continue  # counted above, test by test
    num_run += 1
    if case.get("status") == "notrun" or case.find("skipped") is not None:
        skipped.append(f"ctest: {case.get('name')}")
    elif case.get("status") == "fail":
        failed.append(f"ctest: {case.get('name')}")
    else:
        output = case.findtext("system-out") or ""
        skipped += [f"ctest: {case.get('name')}: a part ({reason})" for reason in re.findall(r"^skipped: (.*)$", output, re.MULTILINE)]

added = [name for name in skipped if "reference data" in name]
skipped = [name for name in skipped if name not in added]
print(f"\n{num_run} single tests: {len(failed)} failed, {len(skipped)} skipped")
for name in added:
    print(f"  reference data would add  {name}")
for name in skipped:
    print(f"  skipped  {name}")
for name in failed:
    print(f"  failed   {name}")

listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True).stdout
commands = {test["name"]: test.get("command", [""]) for test in json.loads(listed)["tests"]}
root = pathlib.Path(__file__).resolve().parents[1]
seconds = {case.get("name"): float(case.get("time")) for case in cases}
print(f"\nThe {min(NUM_SLOWEST, len(cases))} slowest of {len(cases)} tests of ctest:")
for name, time in sorted(seconds.items(), key=lambda item: -item[1])[:NUM_SLOWEST]:
    print(f"{time:8.1f} s  {name}")

steps = {}  # the last of each output
for line in (build / ".ninja_log").read_text().splitlines()[1:]:
    start, end, changed, output = line.split("\t")[:4]
    if int(changed) / 1e9 >= build_began - 1:
        steps[output] = (int(end) - int(start)) / 1000
print_seconds(f"\nThe build took {build_ended - build_began:.0f} s; its steps, which run side by side:",
              [(kind_of_step(output), time) for output, time in steps.items()])
print_seconds("The tests of ctest, which run side by side:",
              [(kind_of_test(commands[name], root), time) for name, time in seconds.items()])
