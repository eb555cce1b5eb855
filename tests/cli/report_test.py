"""predgen report: a page from the files of a run, with nothing from elsewhere."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from program import PREDGEN, check
from report_pages import Page, page_data

def report(*arguments):
    return subprocess.run([PREDGEN, "report", *map(str, arguments)], capture_output=True, text=True)


def addresses(text):
    return re.findall(r"\S*://\S*", text.replace('"http://www.w3.org/2000/svg"', ""))  # the name of SVG's elements


def of_an_evaluation(folder):
    """The page is made again from results.json alone."""
    folder.mkdir()
    row = {"turn": 0, "id": "<a>", "method": "baseline", "prompt": "</script>", "text": "<b>",
           "ttfs": 0.3, "audio_latency": 0.4, "ttfs_paper": 0.3, "ttft": 0.1, "model": "m", "cost": "given"}
    run = {"methods": {"baseline": {"ttfs": {"mean": 0.3}, "audio_latency": {"mean": 0.4}}}, "comparisons": {},
           "model": "m", "cost": {"name": "given", "basis": "&"}}
    results = {"runs": [run], "turns": [row], "num_turns": 1, "failed": [], "config": "a: </pre>"}
    (folder / "results.json").write_text(json.dumps(results))
    made = report(folder)
    check(made.returncode == 0 and made.stdout.strip() == str(folder / "report.html"), f"an evaluation: {made.stderr}")
    text = (folder / "report.html").read_text()
    check(not Page(text).faults, f"well-formed and self-contained: {Page(text).faults[:3]}")
    method = page_data(text)["results"]["runs"][0]["methods"]["baseline"]
    check(abs(method["latency_parts"]["first_pass"] - 0.1) < 1e-9, f"what its pictures show: {method}")
    check(not addresses(text), f"no address: {addresses(text)}")
    check(report(folder / "results.json", "--output", folder / "b.html").returncode == 0, "by its file")
    check((folder / "b.html").read_text() == text, "the same page")
    (folder / "results.json").write_text("[]")
    bad = report(folder)
    check(bad.returncode == 2 and bad.stderr.count("\n") == 1 and "runs" in bad.stderr, f"no results: {bad.stderr}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "my run"
        check(report(run).returncode == 2, "a folder that is not there")
        run.mkdir()
        missing = report(run)
        check(missing.returncode == 2 and "metrics.jsonl" in missing.stderr, "an empty folder")
        check(missing.stderr.count("\n") == 1, "one line says so")

        (run / "config.yaml").write_text("max_steps: 3000\nmode: full\ninitialize: '</script><b>'\n")
        lines = [{"step": step, "train/ar": 8 / step**0.3, "train/gradient_norm": 1 + step % 7,
                  "train/learning_rate": 1e-5, "train/tokens_per_second": 900 + step % 50,
                  "memory/process_gib": 1.5, "train/skipped_steps": float(step > 700),
                  "train/</script>": 1.0} for step in range(1, 2001)]
        (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        made = report(run)
        check(made.returncode == 0, f"a run: {made.stderr}")
        check(made.stdout.strip() == str(run / "report.html"), "it says where the page is")
        text = (run / "report.html").read_text()
        page = Page(text)
        check(not page.faults, f"well-formed and self-contained: {page.faults[:3]}")
        data = page_data(text)
        check(data["last_step"] == 2000 and {"train/</script>", "train/ar"} <= set(data["series"]), f"its values: {list(data['series'])}")
        check(all(len(series["points"]) <= 240 for series in data["series"].values()), "thinned")
        check(data["skipped"] == [{"step": 701, "outlier": False}] and len(text) < 200_000, f"a page that is small: {len(text)}")
        check(not addresses(text), f"no address: {addresses(text)}")

        elsewhere = Path(scratch) / "page.html"
        check(report(run, "--output", elsewhere).returncode == 0, "elsewhere")
        check(elsewhere.read_text() == text, "the same page")
        elsewhere.write_text("my own notes")
        kept = report(run, "--output", elsewhere)
        check(kept.returncode == 2 and "--overwrite" in kept.stderr and elsewhere.read_text() == "my own notes", "no other file is lost")
        check(report(run, "--output", elsewhere, "--overwrite").returncode == 0 and elsewhere.read_text() == text, "unless asked")
        check(Page("<main><p>a</b></main>").faults and Page("<a href='#x'>").faults, "faults would be seen")
        of_an_evaluation(Path(scratch) / "eval")
        (run / "results.json").write_text("{}")
        both = report(run)
        check(both.returncode == 2 and "results.json for the page" in both.stderr, "a folder that holds both")


if __name__ == "__main__":
    main()
