"""scripts/check_links.py and check_figures.py on small trees, each with planted faults."""
import re
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
<!-- figures HASH
command: predgen eval
machine: any
commit: 01965b70 -->
| what | ms | of `best 7` (1 - 2) |
| --- | --- | --- |
| 17 tokens | 1,080 | 1.49x (1.2 - 1.7) |
| none | 12 / 14 | -0.5 |

It takes 1.49 times as long.
## Else
| a | b |
| --- | --- |
| c | 99 |
"""
REPEATED = """<!-- figures HASH
from: docs/a.md#speed -->
| what | ms |
| --- | --- |
| 18 of them | 12 / 1.49x |
"""


class CheckFigures(Clone):
    def page(self, text, name="docs/a.md"):
        """The page, with the hash that the script asks for."""
        self.write(name, text)
        asked = re.search(r"then write (\w+)", self.check("check_figures.py")[1])
        self.write(name, text.replace("HASH", asked[1]) if asked else text)
        return (self.root / name).read_text()

    def test_true_figures(self):
        self.page(PAGE)
        self.page(REPEATED, "README.md")
        self.assertEqual(self.check("check_figures.py"), (0, "figures: ok, 2 tables\n"))

    def test_words_may_change(self):
        page = self.page(PAGE)
        for old, new in [("| what |", "| way |"), ("tokens |", "words   |"), ("`best 7`", "`best 8`"), ("takes 1.49", "takes 1.5"),
                         ("| 99 |", "| 98 |"), ("commit: 01965b70", "commit: 01965b70, 4296597f")]:
            with self.subTest(new=new):
                self.write("docs/a.md", page.replace(old, new))
                self.assertEqual(self.check("check_figures.py"), (0, "figures: ok, 1 tables\n"))

    def test_a_figure_that_was_changed_by_hand(self):
        page = self.page(PAGE)
        for old, new in [("1,080", "1,081"), ("1,080", "1"), ("1.49x", "1.48x"), ("12 / 14", "14 / 12"), ("-0.5", "0.5"),
                         ("17 tokens", "18 tokens"), ("(1 - 2)", "(1 - 3)"), ("12 / 14 | -0.5", "12 | 14 -0.5"),
                         ("| none |", "| 3 | 4 | 5 |\n| none |"), ("| none | 12 / 14 | -0.5 |\n", "")]:
            with self.subTest(new=new):
                self.write("docs/a.md", page.replace(old, new))
                self.assert_fault("check_figures.py", "docs/a.md:3 the figures are not those of this marker")

    def test_markers_that_say_too_little(self):
        page = self.page(PAGE)
        for old, new in [("machine: any\n", ""), ("machine: any", "machine:"), ("machine: any", "machine any"),
                         ("machine: any", "host: any"), ("machine: any", "machine: any\nmachine: any"),
                         ("machine: any", "machine: any\nfrom: docs/a.md#else")]:
            with self.subTest(new=new):
                self.write("docs/a.md", page.replace(old, new))
                self.assert_fault("check_figures.py", "docs/a.md:3 a marker has lines")
        self.write("docs/a.md", page.replace("01965b70", "of today"))
        self.assert_fault("check_figures.py", "docs/a.md:3 commit of today: hashes, please")

    def test_a_marker_without_a_table(self):
        page = self.page(PAGE)
        for old, new in [("-->\n", "-->\n\n"), ("| 17 tokens | 1,080 | 1.49x (1.2 - 1.7) |\n| none | 12 / 14 | -0.5 |\n", "")]:
            self.write("docs/a.md", page.replace(old, new))
            self.assert_fault("check_figures.py", "docs/a.md:3 the marker is not right above a table with figures")

    def test_pages_whose_tables_all_have_markers(self):
        table = "| a | b |\n| --- | --- |\n| c 1 | 99 |\n"
        self.write("docs/measurements.md", "# A\n" + table)
        self.assert_fault("check_figures.py", "docs/measurements.md:2 this table has figures and no marker")
        self.write("docs/measurements.md", f"# A\n{table.replace('99', '`99`')}\n```\n{table}```\n")
        self.assertEqual(self.check("check_figures.py"), (0, "figures: ok, 0 tables\n"))

    def test_figures_that_another_table_lacks(self):
        self.page(PAGE)
        self.page(REPEATED.replace("1.49x", "1.5x"), "README.md")
        self.assert_fault("check_figures.py", "README.md:1 1.5 is in no table of docs/a.md#speed")
        for source in ("docs/a.md#figures", "docs/b.md#speed", "docs/a.md"):
            self.page(REPEATED.replace("docs/a.md#speed", source), "README.md")
            self.assert_fault("check_figures.py", f"README.md:1 there is no table in {source}")


if __name__ == "__main__":
    unittest.main()
