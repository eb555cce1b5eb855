"""The page about a training run, in Debian's Chromium: what it draws of the run's files."""

import json
import re
import sys
import tempfile
from pathlib import Path

from program import check, run
from report_pages import Browser, has_browser, picture_faults

EVIL = "</script><b>"


def open_page(browser, folder, lines, watch=(), config="max_steps: 40\nmode: lora\nmodel: 'a<b'\n"):
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(config)
    for name, rows in (("metrics.jsonl", lines), ("watch.jsonl", watch)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        if not rows:
            (folder / name).unlink()
    made = run("report", folder)
    check(made.returncode == 0, f"the page is written: {made.stderr}")
    faults = browser.open(folder / "report.html")
    check(not faults, f"without a fault, and nothing is asked for: {faults[:3]}")
    return browser


def check_curves(browser, folder):
    lines = [{"step": step, "train/ar": 8 / step**0.3, f"train/{EVIL}": 1.0, "train/gradient_norm": 400.0 if step == 7 else 0.5,
              "train/learning_rate": 1e-5, "train/tokens_per_second": 900, "memory/process_gib": 1.5, "train/seconds": 2.0 * step,
              "train/skipped_steps": float(step > 700) + float(step > 900), "train/outlier_steps": float(step > 900)} for step in range(1, 2001)]
    lines.append({"step": 2001, "held_out/ar": 0.75})
    lines.append({"step": 2002, "held_out/ar": 1.25})
    page = open_page(browser, folder, lines, config=f"max_steps: 4000\nmode: full\ninitialize: '{EVIL}'\nobjective: {{kind: ar}}\n")
    check(page.texts("h1") == [folder.name] and page.run("return document.title") == f"{folder.name} · predgen train", "its name")
    check(page.texts(".soft")[0] == f"Full training of {EVIL}, objective ar", "what is trained")
    check(page.texts(".soft")[1] == "step 2,002 of 4,000 · 1 h 7 min of training · about 1 h 7 min for the rest", f"{page.texts('.soft')[1]}")
    check(page.texts("figcaption span") == ["Loss, nats per token", "Gradient norm, before clipping", "Learning rate",
                                            "Speed, tokens per second", "Most memory of a rank so far, GiB"], "a chart for what was logged")
    check([text for text in page.texts("#loss text") if text in (EVIL, "ar", "ar, held out", "skipped: outlier", "skipped: not finite")] ==
          [EVIL, "ar", "ar, held out", "skipped: outlier", "skipped: not finite"], "its legend")
    check(page.count("#loss .line") == 3 and page.count("#loss .band") == 1 and page.count("#loss circle") == 2, "lines, a band, few dots")
    check(set(page.texts("#loss title")) == {"step 701 skipped: gradient not finite", "step 901 skipped: outlier"}, "skipped steps")
    check({"100", "0.1"} <= set(page.texts("#gradient_norm text")), "values that differ much have a logarithmic axis")
    tiles = dict(zip(page.texts(".tile span:first-child"), page.texts(".tile strong")))
    check(tiles["held-out loss: ar"] == "1.2500" and tiles["steps skipped"] == "2" and tiles["most memory"] == "1.50 GiB", f"{tiles}")
    check("lowest 0.7500 at step 2,001" in page.text() and "of which outliers: 1" in page.text(), "what a tile adds")
    check("No checkpoint yet." in page.text() and "max_steps: 4000" in page.text(), "settings")
    check(page.count("b") == 0, "names are no elements")
    for name, svg in page.pictures().items():
        check(not picture_faults(svg), f"{name} is a file of its own: {picture_faults(svg)}")
    page.run("document.querySelector('#learning_rate summary').click()")
    page.driver.execute_async_script("setTimeout(arguments[0], 50)")
    check(page.rows("#learning_rate table")[1][0] == "learning rate" and len(page.rows("#learning_rate table")) == 241, "in numbers")
    page.screenshot("train_page.png")


def check_pointer(browser):
    """The values at the step under the pointer, and the step in all charts."""
    browser.run("""
        const svg = document.querySelector("#learning_rate svg"), place = svg.getBoundingClientRect();
        const x = place.left + (46 + 0.25 * (590 - 46)) / 600 * place.width;
        svg.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: place.top + 50}));""")
    shown = browser.run("return Array.from(document.querySelectorAll('output')).filter((box) => box.style.visibility === 'visible')"
                        ".map((box) => box.textContent)")
    check(len(shown) == 1 and re.fullmatch(r"learning rate  0.00001  \(step (49|50).\)", shown[0]), f"values: {shown}")
    visible = "return Array.from(document.querySelectorAll('.cursor')).filter((line) => line.style.visibility === 'visible').length"
    check(browser.run(visible) == 5, "a line in every chart")
    browser.run("document.querySelector('#learning_rate svg').dispatchEvent(new PointerEvent('pointerleave'))")
    check(browser.run(visible) == 0, "until the pointer leaves")


def check_watch(browser, folder):
    watch = [{"step": 0, "repetition": 0.0, "answers": [{"text": "<i>Sure."}], "prompts": ["x" * 400 + " Hi?"]},
             {"step": 20, "repetition": 1.0, "answers": [{"text": ""}]}]
    lines = [{"step": 0, "watch/collapsed": 0.0, "watch/repetition": 0.0}, {"step": 20, "watch/collapsed": 1.0, "watch/repetition": 1.0}]
    page = open_page(browser, folder, lines, watch)
    check("The model collapses." in page.text(), "it warns")
    head, row = page.rows(".answers")
    check(head == ["prompt", "step 0", "step 20"] and row[1:] == ["<i>Sure.", "(nothing)"], f"answers: {row}")
    check(row[0] == "… " + "x" * 296 + " Hi?", "the end of a long prompt")
    check(page.count("#answers circle") == 2 and "100" in page.texts("#answers text"), "percent")


def check_ends(browser, folder):
    said = lambda lines, **options: open_page(browser, folder, lines, **options).texts(".soft")[1]
    check(said([{"step": 10, "train/ar": 2.0, "train/seconds": 30.0}]) ==
          "step 10 of 40 · 30 s of training · about 90 s for the rest", "what the rest takes")
    check("for the rest" not in said([{"step": 40, "train/ar": 2.0, "train/seconds": 120.0}]), "nothing is left")
    check(said([{"step": 3, "train/epoch": 0.5}], config="epochs: 2\nmodel: m\n") == "step 3, epoch 0.50 of 2", "epochs")
    page = open_page(browser, folder, [{"step": 0}])
    check(page.count("figure") == 0 and page.texts(".tile strong") == ["0"], "nothing was logged yet")


if not has_browser():
    print("skipped: the page needs selenium and chromium-driver")
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch, Browser() as chromium:
    check_curves(chromium, Path(scratch) / "my run")
    check_pointer(chromium)
    check_watch(chromium, Path(scratch) / "watched")
    check_ends(chromium, Path(scratch) / "short")
