"""What every page and picture of predgen's reports has to keep, and a browser that draws them."""

import html.parser
import importlib.util
import json
import os
import shutil
import xml.etree.ElementTree

VOID = {"meta", "br"}
OPTIONAL = {"tr", "td", "th", "html", "p", "li", "dt", "dd"}  # HTML lets their ends go without saying


class Page(html.parser.HTMLParser):
    """Tags that are not closed, places outside of the page that it names, and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.scripts, self.ids, self.links = [], [], [], [], []
        self.feed(text)
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        self.faults += [f"#{name} is nowhere" for name in self.links if name not in self.ids]
        self.faults += [f"#{name} is there twice" for name in set(self.ids) if self.ids.count(name) > 1]

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        if "id" in names:
            self.ids.append(names["id"])
        if names.get("href", "").startswith("#"):
            self.links.append(names.pop("href")[1:])
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


def picture_faults(svg):
    """Of an SVG file's text: it is well-formed, has a size, and names nothing from elsewhere."""
    root = xml.etree.ElementTree.fromstring(svg)
    faults = [] if root.tag == "{http://www.w3.org/2000/svg}svg" else [f"it is a {root.tag}"]
    faults += [name for name in ("width", "height", "viewBox") if name not in root.attrib]
    faults += [value for element in root.iter() for value in element.attrib.values() if "://" in value]
    faults += [f"{name}={value}" for element in root.iter() for name, value in element.attrib.items()
               if any(word in value for word in ("NaN", "Infinity", "undefined"))]
    return faults


def page_data(text):
    """What a page holds for its scripts, where nothing ends the element early."""
    page = Page(text)
    return json.loads(next(script for kind, script in page.scripts if kind == "application/json"))


def has_browser():
    return importlib.util.find_spec("selenium") is not None and shutil.which("chromedriver") is not None


class Browser:
    """Debian's Chromium with one page from a file; another one can be opened in it."""

    def __init__(self, width=1400, scheme="light", arguments=()):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", *arguments):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.show_as(width, scheme)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def show_as(self, width, scheme):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 1200, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, file):
        """Faults: what the browser says against the page, and all that it asked for but the file itself."""
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(file.resolve().as_uri())
        return self.faults()

    def faults(self):
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return ([entry["message"] for entry in self.driver.get_log("browser")] + [url for url in asked if not url.startswith("file:")] +
                Page(self.run("return document.documentElement.outerHTML")).faults)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector):
        """Also of what is folded or in a picture."""
        return self.run("return Array.from(document.querySelectorAll(arguments[0]), (part) => part.textContent)", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def text(self):
        return self.run("return document.querySelector('main').textContent")

    def rows(self, selector):
        """Of a table, as lists of its cells' texts."""
        return self.run("""return Array.from(document.querySelectorAll(arguments[0] + " tr"),
                                             (row) => Array.from(row.cells, (cell) => cell.textContent))""", selector)

    def pictures(self):
        """By name, what their buttons save."""
        return self.run("""
            const files = {}, plain = save;
            save = (name, text) => { files[name] = text; };
            document.querySelectorAll("figcaption button").forEach((button) => button.click());
            save = plain;
            return files;""")

    def screenshot(self, name):
        if os.environ.get("PREDGEN_SCREENSHOTS"):  # a folder, for whoever wants to look
            self.driver.save_screenshot(os.path.join(os.environ["PREDGEN_SCREENSHOTS"], name))


def drawn_pictures(file):
    """The pictures of a page, if it and they are without a fault; without a browser nothing is drawn, and None returned."""
    if not has_browser():
        return None
    with Browser() as browser:
        faults = browser.open(file)
        pictures = browser.pictures()
    faults += [f"{name}: {fault}" for name, svg in pictures.items() for fault in picture_faults(svg)]
    if faults:
        raise AssertionError(f"{file}: {faults[:3]}")
    return {name.removesuffix(".svg"): svg for name, svg in pictures.items()}
