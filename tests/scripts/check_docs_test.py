"""scripts/check_links.py and check_figures.py on small trees, each with planted faults."""
import json
import unittest

from check_scripts_test import Clone


class CheckLinks(Clone):
    def test_links_that_lead_somewhere(self):
        self.write("docs/b.md", "# Is `it` fast, or llama.cpp?\n```\n# no heading\n```\n")
        self.write("docs/images/a.svg")
        self.write("README.md", "# A\n[a](docs/b.md) [b](docs/b.md#is-it-fast-or-llamacpp) [c](#a) [d](docs/)\n"
                                "![p](docs/images/a.svg) [w](https://example.com/x) `[x](gone.md)`\n```\n[y](gone.md)\n```\n")
        self.assertEqual(self.check("check_links.py"), (0, "links: ok\n"))

    def test_links_that_lead_nowhere(self):
        self.write("docs/b.md", "# B\n```\n# no heading\n```\n")
        for link, fault in [("gone.md", "there is no gone.md"), ("b.md#c", "b.md has no section #c"), ("#c", "docs/a.md has no section #c"),
                            ("b.md#no-heading", "has no section #no-heading"), ("../../b.md", "there is no ../../b.md")]:
            with self.subTest(link=link):
                self.write("docs/a.md", f"# A\n\n[x\ny]({link})\n")
                self.assert_fault("check_links.py", f"docs/a.md:4 {fault}" if fault.startswith("there") else fault)


PAGE = """# Figures
## Speed
| what | ms | of `best 7` (1 - 2) |
| --- | --- | --- |
| 17 tokens | 1,080 | 1.49x (1.2 - 1.7) |
| none | 12 / 12 | - |

It takes 1.49 times
as long.
## Else
| a | b |
| --- | --- |
| c | 99 |
"""
STATED = {"one": [1080, "| 17 tokens | {1,080} |"], "two": [1.49, "| 17 tokens .. | {1.49}x", "takes {1.49} times as long"],
          "three": [12, "| none | {12} / 12"], "four": [12, "| none | 12 / {12}"]}


class CheckFigures(Clone):
    def state(self, figures, tables=("docs/a.md#speed",), **fields):
        self.write("docs/a.md", PAGE)
        rows = [{"name": name, "value": value, "unit": "ms", "command": "x", "machine": "y",
                 "stands_in": [{"file": "docs/a.md", "text": text} for text in texts], **fields}
                for name, (value, *texts) in figures.items()]
        self.write("docs/figures.json", json.dumps({"tables": tables, "figures": rows}))

    def test_true_figures(self):
        self.state(STATED)
        self.assertEqual(self.check("check_figures.py"), (0, "figures: ok, 4\n"))

    def test_a_number_that_is_not_the_value(self):
        self.state(STATED | {"one": [1081, "| 17 tokens | {1,080} |"]})
        self.assert_fault("check_figures.py", "one: is 1081, and docs/a.md says")

    def test_texts_that_the_page_does_not_have_once(self):
        for value, text, count in [(1080, "| 17 tokens | {1,080}x", 0), (1.4, "| 17 tokens .. | {1.4}", 0),
                                   (49, "| 17 tokens .. {49}x", 0), (12, "{12}", 2)]:
            with self.subTest(text=text):
                self.state(STATED | {"five": [value, text]})
                self.assert_fault("check_figures.py", f"five: stands {count} times in docs/a.md: {text}")

    def test_a_page_that_was_changed(self):
        self.state(STATED)
        self.write("docs/a.md", PAGE.replace("1.49 times", "1.50 times"))
        self.assert_fault("check_figures.py", "two: stands 0 times in docs/a.md: takes {1.49} times as long")

    def test_a_number_of_a_table_that_is_no_figure(self):
        for missing, number in [("one", "1,080"), ("four", "12")]:
            with self.subTest(missing=missing):
                self.state({name: figure for name, figure in STATED.items() if name != missing})
                self.assert_fault("check_figures.py", f"docs/a.md#speed: {number} is in no figure")
        self.state(STATED, tables=["docs/a.md"])
        self.assert_fault("check_figures.py", "docs/a.md: 99 is in no figure")

    def test_a_section_without_a_table(self):
        self.state(STATED, tables=["docs/a.md#gone"])
        self.assert_fault("check_figures.py", "docs/a.md#gone: there is no table")

    def test_figures_that_lack_something(self):
        self.state(STATED, note="z")
        self.assert_fault("check_figures.py", "one: a figure has a name of its own, command, machine")
        self.state({"one": [12, "none | 12"]})
        self.assert_fault("check_figures.py", "one: one number in braces")


if __name__ == "__main__":
    unittest.main()
