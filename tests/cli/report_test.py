"""predgen report: a page from the files of a run, with nothing from elsewhere."""

import json
import subprocess
import tempfile
from pathlib import Path

from program import PREDGEN, check
from report_pages import Page, picture_faults

def report(*arguments):
    return subprocess.run([PREDGEN, "report", *map(str, arguments)], capture_output=True, text=True)


def of_an_evaluation(folder):
    """The page is made again from results.json alone."""
    folder.mkdir()
    row = {"turn": 0, "id": "<a>", "method": "baseline", "prompt": "</script>", "text": "<b>",
           "ttfs": 0.3, "audio_latency": 0.4, "ttfs_paper": 0.3, "ttft": 0.1, "model": "m", "price": "given"}
    run = {"methods": {"baseline": {"ttfs": {"mean": 0.3}, "audio_latency": {"mean": 0.4}}}, "comparisons": {},
           "model": "m", "price": {"name": "given", "basis": "&"}}
    results = {"runs": [run], "turns": [row], "num_turns": 1, "failed": [], "config": "a: </pre>"}
    (folder / "results.json").write_text(json.dumps(results))
    made = report(folder)
    check(made.returncode == 0 and made.stdout.strip() == str(folder / "report.html"), f"an evaluation: {made.stderr}")
    text = (folder / "report.html").read_text()
    check(not Page(text).faults, f"well-formed and self-contained: {Page(text).faults[:3]}")
    check("400 ms" in text and "://" not in text, "its figures, and no address")
    pictures = list((folder / "figures").iterdir())
    check([picture.name for picture in pictures] == ["waterfall.svg"], f"what there is data of: {pictures}")
    check(not picture_faults(pictures[0]), f"a picture: {picture_faults(pictures[0])}")
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
        data = [json.loads(script) for kind, script in page.scripts if kind == "application/json"]
        check(len(data) == 5 and data[0]["last"] == 2000, "values of five charts")
        names = [line["name"] for line in data[0]["lines"]]
        check(names == ["</script>", "ar"], f"the losses: {names}")
        check(all(len(line["points"]) <= 240 for chart in data for line in chart["lines"]), "thinned")
        check("step 701 skipped" in text and len(text) < 200_000, "marks, and a page that is small")
        check("://" not in text, "no address")

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
