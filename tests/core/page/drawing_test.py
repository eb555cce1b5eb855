"""What every report is drawn with, in Debian's Chromium: axes, labels, plots, tables, files."""

import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.append(str(REPOSITORY / "tests" / "cli"))
from program import check  # noqa: E402
from report_pages import Browser, has_browser, picture_faults  # noqa: E402

SCRIPTS = ["elements.js", "canvas.js", "row_charts.js", "line_plot.js", "figure.js"]


def write_page(file):
    folder = REPOSITORY / "core" / "page"
    parts = {"@STYLE@": (folder / "style.css").read_text(), "@DATA@": "{}",
             "@SCRIPT@": "".join((folder / script).read_text() for script in SCRIPTS)}
    page = (folder / "report.html").read_text()
    for place, text in parts.items():
        page = page.replace(place, text)
    file.write_text(page)


def check_axes(page):
    labels = lambda *arguments: page.run("return roundTicks(...arguments).map(tickLabel)", *arguments)
    for arguments, wanted in [((0, 100, 5), "0 20 40 60 80 100"), ((1.87, 2.61, 5), "2 2.2 2.4 2.6"), ((0, 1.04e-5, 5), "0 5e-6 1e-5"),
                              ((0, 20000, 5), "0 5000 10k 15k 20k"), ((-1, 1, 4), "-1 -0.5 0 0.5 1"), ((0, 2.5e6, 5), "0 500k 1M 1.5M 2M 2.5M")]:
        check(labels(*arguments) == wanted.split(), f"ticks: {labels(*arguments)}")
    places = page.run("""
        const up = new Axis(0, 4, 100, 20), wide = new Axis(1, 100, 0, 200, true);  // on a screen more is further up
        return [up.place(1), up.place(9), wide.place(10), wide.ticks(7)];""")
    check(places == [80, 20, 100, [1, 2, 5, 10, 20, 50, 100]], f"places: {places}")


def check_texts(page):
    cut = page.run("return [cutToWidth('short', 100), cutToWidth('much too long', 7 * 6.9), cutToWidth('😀😀😀😀', 5 * 6.9)]")
    check(cut == ["short", "much t…", "😀😀…"], f"texts are cut between characters: {cut}")
    texts = page.run("return [fixed(null, 2), fixed(1.005, 1), short(1730), short(0.12345), withCommas(12345), plural(1, 'turn'), plural(0, 'turn')]")
    check(texts == ["–", "1.0", "1730", "0.1235", "12,345", "1 turn", "0 turns"], f"numbers: {texts}")


def check_rows(page):
    marks = page.run("""
        const svg = drawDotRows({rows: [{label: "heading"}, {label: "a", value: 1, text: "1"}, {label: "b", value: 2, low: 1, high: 2, text: "2"}],
                                 axis: "times"}, 600, "label");
        const left = +svg.querySelector(".grid").getAttribute("d").match(/M([\\d.]+)/)[1];
        return [Array.from(svg.querySelectorAll("circle"), (dot) => dot.getAttribute("cx") - left), svg.querySelectorAll(".whisker").length,
                Array.from(svg.querySelectorAll("text"), (text) => text.textContent)];""")
    check(abs(marks[0][1] / marks[0][0] - 2) < 0.01 and marks[1] == 1, f"from zero, twice the value is twice as far: {marks[0]}")
    check({"heading", "times", "a"} <= set(marks[2]), "headings, labels and what the values are")
    bars = page.run("""
        const chart = {parts: [["s0 fill", "one"], ["s1 fill", "other"]], rows: [{label: "a", parts: [10, 30], text: "40, more"},
                       {label: "b", parts: [-3, 20], text: "20"}], axis: "tokens"};
        const titles = (svg) => Array.from(svg.querySelectorAll("rect title"), (title) => [title.textContent, +title.parentNode.getAttribute("width") + 1]);
        const narrow = drawStackedRows(chart, 340, "label");
        return [titles(drawStackedRows(chart, 600, "label")), Array.from(narrow.querySelectorAll("text"), (text) => text.textContent)];""")
    widths = dict(bars[0])
    check(set(widths) == {"a: 10 one", "a: 30 other", "b: 20 other"}, f"parts; a negative one is left out: {set(widths)}")
    check(abs(widths["a: 30 other"] / widths["a: 10 one"] - 3) < 0.02, "as wide as their values")
    check("40" in bars[1] and "40, more" not in bars[1], "the first part of a text, where there is little room")


def check_plots(page):
    drawn = page.run("""
        const texts = (svg) => Array.from(svg.querySelectorAll("text"), (text) => text.textContent);
        const rising = drawLinePlot({xAxis: "x", yAxis: "y", lines: [{name: "line", points: [{x: 0, y: 1, title: "low"}, {x: 1, y: 3, title: "high"}]}]}, 600, "");
        const wide = (highest) => texts(drawLinePlot({xAxis: "", mayBeLog: true, lines: [{points: [{x: 1, y: 0.5}, {x: 2, y: highest}]}]}, 600, ""));
        const band = drawLinePlot({xAxis: "", xEnd: 10, lines: [{hasDots: false, hasBand: true, points: [{x: 0, y: 2, low: 1, high: 4}, {x: 10, y: 2, low: 1, high: 4}]}],
                                   marks: [{x: 5, classes: "outlier", title: "skipped"}]}, 600, "");
        const mark = band.querySelector(".outlier");
        return {heights: Array.from(rising.querySelectorAll("circle"), (dot) => +dot.getAttribute("cy")), texts: texts(rising),
                wide: wide(400), plain: wide(4), band: band.querySelector(".band").getAttribute("d"), dots: band.querySelectorAll("circle, .whisker").length,
                mark: [mark.getAttribute("d"), mark.textContent]};""")
    check(drawn["heights"][0] > drawn["heights"][1] and {"line", "x", "y"} <= set(drawn["texts"]), "more is further up")
    check({"100", "0.1"} <= set(drawn["wide"]) and "0.1" not in drawn["plain"], "a logarithmic axis where values differ much")
    # Up at the highest, back at the lowest, by 1/4.24 of the height of 210.
    check(drawn["band"] == "M46.0 35.9L590.0 35.9L590.0 184.5L46.0 184.5Z" and drawn["dots"] == 0, f"a band: {drawn['band']}")
    check(drawn["mark"] == ["M318.0 226.0l-4.5 8h9z", "skipped"], f"marks are at the bottom: {drawn['mark']}")
    labels = page.run("""
        const canvas = new Canvas(200), places = new LabelPlaces(0, 0, 200, 100);
        places.keepFree(60, 50, 5);
        for (const label of ["first", "second", "much too long for any of the places in this picture"]) places.draw(canvas, 60, 50, label);
        return Array.from(canvas.svg.querySelectorAll("text"), (text) => [text.textContent, text.getAttribute("x"), text.getAttribute("text-anchor")]);""")
    check(labels == [["first", "69", "start"], ["second", "51", "end"]], f"labels do not cover each other: {labels}")


def check_files(page):
    svg = page.run(r"""
        return svgFile({draw: (width) => {
          const canvas = new Canvas(width);
          canvas.text(1, 2, "a<b>&'\x01");
          canvas.rect(1, 2, 3, 4, "s0 fill", "x<y>");
          return canvas.finish(50, "label's <i>");
        }});""")
    check(not picture_faults(svg), f"well-formed, whatever its texts: {picture_faults(svg)}")
    check('width="628" height="78"' in svg and 'viewBox="-14 -14 628 78"' in svg and "var(" not in svg and "fill:currentColor" in svg, "size and style")
    missing = page.run("return figureElement({name: 'a', title: 'A picture', missing: 'is not here: <b>.'}).outerHTML")
    check(missing == '<p class="missing"><b>A picture</b> is not here: &lt;b&gt;.</p>', f"why there is none: {missing}")


if not has_browser():
    print("skipped: drawing needs selenium and chromium-driver")
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch, Browser() as chromium:
    write_page(Path(scratch) / "page.html")
    faults = chromium.open(Path(scratch) / "page.html")
    check(not faults, f"an empty page: {faults}")
    for check_part in (check_axes, check_texts, check_rows, check_plots, check_files):
        check_part(chromium)
