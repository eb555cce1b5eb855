"""The page about an evaluation, in Debian's Chromium: what it draws of a results.json."""

import base64
import copy
import json
import sys
import tempfile
from pathlib import Path

from planted_results import group_of, interval, planted_results, planted_row
from program import check, run
from report_pages import Browser, has_browser, picture_faults

EVIL = "</script><img src=x onerror=alert(1)>&'\""


class EvalPages:
    """Pages of planted results, one after another in one browser."""

    def __init__(self, browser, folder):
        self.browser, self.folder = browser, folder

    def open(self, results):
        (self.folder / "results.json").write_text(json.dumps(results))
        made = run("report", self.folder)
        check(made.returncode == 0, f"the page is written: {made.stderr}")
        faults = self.browser.open(self.folder / "report.html")
        check(not faults, f"without a fault, and nothing is asked for: {faults[:3]}")
        return self.browser

    def titles(self, figure):
        """What the marks of a picture say."""
        return self.browser.texts(f"#{figure} title")


def check_figures(pages):
    page = pages.open(planted_results())
    names = page.run("return Array.from(document.querySelectorAll('figure'), (figure) => figure.id)")
    check(names == ["speed_up", "passes", "trade_off", "waterfall", "waste", "rounds", "top_k_quality", "top_k_speed", "input_length",
                    "timeline_typical"], f"every figure of which there is data: {names}")
    check(page.run("return document.title") == "sets/talk.jsonl · predgen eval", "its title")
    check("16 turns, 3 methods, 1 model, 1 cost of a pass" in page.text(), "what ran")
    check("is not here" not in page.text().replace("Not here", ""), "what does not apply has no box")
    said = {figure: pages.titles(figure) for figure in names}
    # Marks: a dot for each method that was compared; top3 saves more, and stands first.
    check(said["speed_up"] == ["top3: 750 ms 675–825", "greedy: 500 ms 450–550"], f"{said['speed_up']}")
    check(said["passes"][1] == "greedy: 2.00× 1.80–2.20", f"{said['passes']}")
    check({"greedy: 500 ms, 100.00", "top3: 250 ms, 50.00"} <= set(said["trade_off"]), f"{said['trade_off']}")
    # 0.1 s of a pass under way, 0.2 s for the first text, 0.5 s to the sentence, 0.2 s to the sound.
    check({"baseline: 100 a pass still running", "baseline: 500 rest of the first sentence", "baseline: 200 speech to its first sample",
           "greedy: 250 rest of the first sentence"} <= set(said["waterfall"]), f"{said['waterfall']}")
    check(len(said["waterfall"]) == 12, "four parts of three methods")
    check("greedy: 15 in the answer" in said["waste"] and not any("baseline" in title for title in said["waste"]), f"{said['waste']}")
    check("75 % wasted, 40 passes ahead" in page.texts("#waste text"), "what it cost")
    # Of the eight first turns of conversations four took one pass: turns 0, 4, 8 and 12.
    check("greedy: 50 % 1 pass" in said["rounds"], f"{said['rounds']}")
    check({"mean 5.5, n = 8", "Turn 2 of the conversation"} <= set(page.texts("#rounds text")), "rounds are told apart")
    check("k = 3: 250" in said["top_k_speed"] and "k = 1: 100" in said["top_k_quality"], "k")
    check("baseline: 800 ms (800–800)" in said["input_length"], f"{said['input_length']}")
    check({"13–16", "n = 4"} <= set(page.texts("#input_length text")), "groups of turns")
    check(page.count("#speed_up circle") == 2 and page.count("#trade_off circle") == 3, "a mark for each")
    widths = page.run("return Array.from(document.querySelectorAll('#waterfall rect'), (bar) => +bar.getAttribute('width')).slice(4)")
    check(abs((widths[2] + 1) / (widths[0] + 1) - 5) < 0.1, f"parts are as wide as their values: {widths[:4]}")


def check_methods(pages):
    """The paper's methods are shown before others, in the order of the run."""
    shown = pages.browser.run("""
        const methods = Object.fromEntries(["prefill", "top3", "best", "baseline", "greedy"].map((name) => [name, {}]));
        const run = new Run({}, {methods, model: "models/tiny/"}, {});
        return [run.shown(3), run.shown().length, run.model, run.colour("baseline"), run.colour("best")];""")
    check(shown == [["top3", "baseline", "greedy"], 5, "models/tiny/", "base", "s2"], f"{shown}")


def check_tables(pages):
    page = pages.open(planted_results())
    check(page.texts("#table1") == ["Summary"] and page.count(".paper") == 0, "no paper's figures on another set")
    summary = page.rows("h2#table1 + .scroll table")
    check(summary[0] == ["Method", "TTFS, ms", "NFE", "First sound, ms", "same text %", "Sooner, ms"], f"{summary[0]}")
    check(summary[2] == ["greedy", "400", "10.0", "500", "100.0", "500 450–550"], f"{summary[2]}")
    methods = page.rows("h2#methods + .scroll table")
    check(methods[0][:3] == ["method", "ttfs ms", "P50"] and methods[3][:2] == ["top3", "200.0"], f"{methods}")
    # A click on a head sorts, another one the other way around.
    first = lambda: page.rows("h2#methods + .scroll table")[1][0]
    click = "document.querySelectorAll('h2#methods + .scroll th button')[1].click()"
    page.run(click)
    check(first() == "top3", "the fastest first")
    page.run(click)
    check(first() == "baseline", "and last")
    # The values of a picture as a table, made when they are asked for.
    check(page.count("#speed_up table") == 0, "not before")
    page.run("document.querySelector('#speed_up summary').click()")
    page.driver.execute_async_script("setTimeout(arguments[0], 50)")
    check(page.rows("#speed_up table")[1:] == [["top3", "750", "675 – 825"], ["greedy", "500", "450 – 550"]], "the figure in numbers")
    on_the_papers_set = planted_results()
    on_the_papers_set["config"] = "turns:\n  kind: gsm8k\n"
    greedy = on_the_papers_set["runs"][0]["methods"]["greedy"]
    greedy["speedup"], greedy["sooner"] = 721.38, {"seconds": 0.166, "low": 0.15, "high": 0.18}
    page = pages.open(on_the_papers_set)
    check(page.texts("h1")[0].startswith("GSM8K") and page.texts("#table1") == ["Table 1, beside the paper's"], "the paper's set")
    rows = page.rows("h2#table1 + .scroll table")
    check(rows[4][6:] == ["4.0×", "544", "14.7", "627", "0.80", "2.5×"], f"{rows[4]}")
    check(rows[3][6] == "> 20×" and "721" not in page.text(), "no ratio to nearly nothing")
    tiles = page.texts(".tile strong")
    check(tiles == ["1000 ms", "166 ms sooner", "750 ms sooner"], f"the headline: {tiles}")


def check_turns(pages):
    page = pages.open(planted_results())
    check(page.count(".turns tbody tr") == 16 and page.count(".turns details[open]") == 0, "turns, folded")
    check(page.texts(".turns tbody tr:nth-child(2) dt") == ["baseline, greedy", "top3"], "each text once")
    check(page.texts(".turns tbody tr:nth-child(2) dd mark") == [" not"], "what differs is marked")
    check(page.texts(".turns tbody tr:nth-child(1) summary") == ["one text"], "one text")
    check(page.texts(".turns tbody tr:nth-child(3) .number") == ["800", "400", "200"], "their times")
    few = planted_results()
    few["turns"] = [row for row in few["turns"] if row["turn"] < 3]
    check(pages.open(few).count(".turns details[open]") == 3, "answers of few turns are open")
    marked = pages.browser.run("""
        const parts = (reference, text) => Array.from(markDifference(reference, text), (part) => part.outerHTML ?? part).join("");
        const many = (word) => Array.from({length: 5000}, (_, i) => ` ${word}${i}`).join("");
        return [parts("a b c d", "a x c y d"), parts("", "new <b>"), parts("gone", ""), parts("a b", "b"),
                parts(`a${many("x")} z`, `a${many("y")} z`) === `a<mark>${many("y")}</mark> z`];""")
    check(marked == ["a<mark> x</mark> c<mark> y</mark> d", "<mark>new &lt;b&gt;</mark>", "", "<mark>b</mark>", True], f"{marked}")


def check_timelines(pages):
    page = pages.open(planted_results())
    drafts = page.run("return Array.from(document.querySelectorAll('.drafts tr'), (row) => row.cells[2].innerHTML)")
    check('<span><span class="kept">It was</span><s>.</s></span>' in drafts, f"{drafts}")
    check('<span><span class="kept">It </span><s>was all.</s></span>' in drafts, f"{drafts}")
    check("draft 1, 0.90 s: It was." in pages.titles("timeline_typical"), "drafts")
    check({"500 ms", "now"} <= set(page.texts("#timeline_typical text")), "the wait, and words as they were heard")
    check(page.texts("#timeline_typical figcaption span") == ["Turn 2, in which greedy saves the median"], "which turn")
    starts = page.run("""return [commonStart("abc", "abd"), commonStart("a", "a"), commonStart("a😀", "a😁"), commonStart("x", "")]""")
    check(starts == [2, 1, 1, 0], f"no character is cut: {starts}")


def check_hostile(pages):
    results = planted_results(("baseline", "greedy", "<script>alert(1)</script>"))
    for row in results["turns"]:
        row.update({key: EVIL for key in ("text", "prompt", "id", "category", "in_training_data", "judge_grade_problem")})
    odd = results["runs"][0]
    odd["timelines"][0]["events"][0][2] = odd["timelines"][1]["events"][1][2] = EVIL
    odd["cost"]["basis"] = EVIL
    odd["groups"] = {"source": [{"group": EVIL, "n": 1, "methods": {EVIL: group_of(1)}}], "length": [], "last_change": []}
    results["failed"].append({"turn": 3, "id": EVIL, "method": EVIL, "error": EVIL, "model": EVIL, "cost": "x"})
    results.update(skipped=[EVIL], config=EVIL, environment={EVIL: EVIL})
    page = pages.open(results)
    check(page.count("img") == 0 and page.count("script") == 2, "names and texts are no elements")
    check(EVIL in page.text() and "<script>alert(1)</script>" in page.texts("h2#table1 + .scroll tbody th"), "but texts")


def check_left_out(pages):
    check(pages.open(planted_results()).count(".alarm") == 0, "nothing was left out")
    results = planted_results()
    results["failed"].append({"turn": 3, "id": "f-3", "method": "top3", "error": "no room", "model": "m", "cost": "given"})
    planted_row(results, "top3", 4).update(judge_grade_problem="HTTP 500", judge_grade=None)
    for judged in ("baseline", "greedy"):
        planted_row(results, judged, 4)["judge_grade"] = 7
    results["training_overlap"] = {"exact": 2, "normalised": 1, "none": 13}
    one = results["runs"][0]
    one["unseen"] = {"methods": copy.deepcopy(one["methods"]), "comparisons": {}}
    page = pages.open(results)
    said = page.text()
    for part in ("Turns that failed, left out of every method: 1", "f-3, top3 (m, given): no room", "Not judged, and in no mean: 1",
                 "id-4, top3: HTTP 500", "stand 2 turns word for word, 1 but for", "Turns that the training data lacks",
                 "Groups of turns are not here", "Grade by the judge", "baseline, greedy, top3 7/10"):
        check(part in said, f"it says: {part}")
    check(page.count(".alarm:not(.mild)") == 1, "and warns")


def check_odd_runs(pages):
    page = pages.open(planted_results(("baseline",)))
    names = set(page.pictures())
    check("speed_up.svg" not in names and {"waterfall.svg", "timeline_typical.svg"} <= names, f"one method: {names}")
    nothing = planted_results()
    nothing["turns"] = []
    check("none was answered" in pages.open(nothing).text(), "no turn")
    nothing["runs"] = []
    page = pages.open(nothing)
    check("No run is in these results." in page.text() and page.count("figure") == 0, "no run")
    single = planted_results()
    single["turns"] = [row for row in single["turns"] if row["turn"] == 2]
    check(pages.open(single).count(".turns tbody tr") == 1, "one turn")
    old = planted_results()
    del old["runs"][0]["timelines"]
    for row in old["turns"]:
        for key in ("ttft", "round", "revised_share"):
            del row[key]
    said = pages.open(old).text()
    check("hold no trace of a turn" in said and "(Figure 3b)" not in said, "results of an older version")
    missing = planted_results()
    for row in missing["turns"]:
        if row["method"] == "top3":
            row.update(ttfs=None, audio_latency=None)
    missing["runs"][0]["methods"]["top3"].update(ttfs={"mean": None}, audio_latency={"mean": None}, sooner=None)
    page = pages.open(missing)
    rows = page.rows("h2#table1 + .scroll table")
    check(rows[3] == ["top3", "–", "5.0", "–", "50.0", ""], f"a figure that does not exist is no figure: {rows[3]}")
    check("no sound" in page.texts("#timeline_typical text") and not any("NaN" in text for text in page.texts("svg *")), "in pictures, too")


def check_groups(pages):
    results = planted_results()
    saving = interval("ratio", 4)
    results["runs"][0]["groups"] = {
        "last_change": [{"group": "word_added", "n": 16, "methods": {"baseline": group_of(20), "greedy": group_of(5, saving)}}],
        "length": [{"group": "1-5", "n": 1, "methods": {"greedy": group_of(5)}}], "source": []}
    page = pages.open(results)
    check(page.texts("h2#pays ~ .scroll th[scope=rowgroup]")[0] == "word_added: 16 turns (one more word at the end)", "groups")
    check(["greedy", "5.00", "4.00 3.60-4.40", "0.500"] in page.rows("h2#pays ~ .scroll table"), "their figures")
    check('key "source" of its rows' in page.text() and "x fewer: how many times fewer" in page.text(), "what is missing, what is meant")


def check_runs(pages):
    results, other = planted_results(), planted_results()
    results["runs"].append(other["runs"][0] | {"model": "models/other"})
    for row in other["turns"]:
        results["turns"].append(row | {"model": "models/other", "audio_latency": 3 * row["audio_latency"]})
    page = pages.open(results)
    check({"greedy: 1500 ms 2.00×", "greedy: 500 ms 2.00×"} <= set(pages.titles("models")), f"{pages.titles('models')}")
    check(page.count("#table1") == 1 and page.texts("h2").count("Summary") == 2, "a part for each run")
    check(page.count("#waterfall_run2") == 1 and page.texts("details.run > summary") == ["other, cost given"], "folded")
    pdf = base64.b64decode(page.driver.print_page())
    check(pdf.startswith(b"%PDF") and page.count("details.run[open]") == 1, "it is printed, with all runs")


def check_accuracy(pages):
    results = planted_results()
    for method in ("baseline", "top3"):
        share = {"share": 0.25, "low": 0.1, "high": 0.5, "count": 4, "n": 16}
        results["runs"][0]["methods"][method]["accuracy"] = share | {"by_category": {"law & order": share}}
    results["runs"][0]["methods"]["greedy"]["accuracy"] = None
    page = pages.open(results)
    check(["law & order", "16", "25.0 10-50", "-", "25.0 10-50"] in page.rows("h2#methods ~ .scroll table"), "by category")
    check("Right answers, %" in page.texts("#trade_off text"), "and the quality of the pictures")


def check_screens(pages):
    page = pages.open(planted_results())
    pictures = page.pictures()
    for name, svg in pictures.items():
        check(not picture_faults(svg), f"{name} is a file of its own: {picture_faults(svg)}")
    check("greedy: 500 ms 450–550" in pictures["speed_up.svg"] and "fill:#fff" in pictures["speed_up.svg"], "with its numbers and style")
    light = page.run("return getComputedStyle(document.body).backgroundColor")
    page.screenshot("eval_page.png")
    page.show_as(400, "dark")
    page.driver.execute_async_script("setTimeout(arguments[0], 100)")
    check(page.run("return getComputedStyle(document.body).backgroundColor") != light, "dark where the reader's system is")
    box = page.run("return document.querySelector('#speed_up svg').getAttribute('viewBox')")
    check(box.startswith("0 0 340 "), f"pictures are drawn anew for a narrow screen: {box}")
    check(not page.run("return document.documentElement.scrollWidth > innerWidth"), "it fits into 400 pixels")
    page.screenshot("eval_page_narrow.png")
    page.show_as(1400, "light")
    unnamed = page.run("return Array.from(document.querySelectorAll('svg, table, nav')).filter((part) => !part.getAttribute('aria-label')).length")
    check(unnamed == 0, "pictures and tables have names")


if not has_browser():
    print("skipped: the page needs selenium and chromium-driver")
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch, Browser() as chromium:
    for check_part in (check_figures, check_methods, check_tables, check_turns, check_timelines, check_hostile, check_left_out, check_odd_runs, check_groups,
                       check_runs, check_accuracy, check_screens):
        check_part(EvalPages(chromium, Path(scratch)))
