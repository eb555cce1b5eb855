"""predgen report: a page from the files of a run, with nothing from elsewhere."""

import html.parser
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "model"))
from reference_models import PREDGEN, check  # noqa: E402

VOID = {"meta", "br"}
OPTIONAL = {"tr", "td", "th", "html", "p"}  # HTML lets their ends go without saying


class Page(html.parser.HTMLParser):
    """Tags that are not closed, places outside of the page that it names, and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.scripts = [], [], []
        self.feed(text)
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.faults += [f"{name}={names[name]}" for name in ("src", "href") if name in names]
        if tag == "script":
            self.scripts.append([names.get("type"), ""])
        if tag not in VOID | OPTIONAL:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag in OPTIONAL:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data


def report(*arguments):
    return subprocess.run([PREDGEN, "report", *map(str, arguments)], capture_output=True, text=True)


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
        check(Page("<main><p>a</b></main>").faults, "a fault would be seen")


if __name__ == "__main__":
    main()
