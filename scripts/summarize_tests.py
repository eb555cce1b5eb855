"""Counts single tests, not only ctest's programs, and names every skipped one, including parts of Python checks.
Tests that only add reference data (tests/fakes/shared_data.h) are listed separately: without that data, every part of
the repository still has a test.

usage: summarize_tests.py FOLDER    (with ctest.xml and one JSON report for each gtest program)
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

folder = pathlib.Path(sys.argv[1])
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
