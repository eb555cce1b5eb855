"""Counts single tests, not only ctest's programs, and names every skipped one, parts of a Python check included.
Those that only add what reference data says (tests/fakes/shared_data.h) are listed apart: no part of the repository is
without a test where that is absent.

usage: summarize_tests.py FOLDER    (with ctest.xml and one JSON report for each gtest program)
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

folder = pathlib.Path(sys.argv[1])
num_run = 0
skipped, failed = [], []
for path in sorted(folder.glob("*.json")):
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            name = f"{path.stem}: {suite['name']}.{case['name']}"
            num_run += 1
            if case.get("result") == "SKIPPED":
                reason = (case.get("skipped") or [{}])[0].get("message", "").splitlines()
                skipped.append(name + (f" ({' '.join(reason).strip()})" if reason else ""))
            if case.get("failures"):
                failed.append(name)
programs = {path.stem.removesuffix("_test") for path in folder.glob("*.json")}
for case in ElementTree.parse(folder / "ctest.xml").getroot().iter("testcase"):
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
