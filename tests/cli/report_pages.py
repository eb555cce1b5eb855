"""What every page and picture that predgen writes has to keep."""

import html.parser
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


def picture_faults(file):
    """Of an SVG file: it is well-formed, has a size, and names nothing from elsewhere."""
    root = xml.etree.ElementTree.parse(file).getroot()
    faults = [] if root.tag == "{http://www.w3.org/2000/svg}svg" else [f"it is a {root.tag}"]
    faults += [name for name in ("width", "height", "viewBox") if name not in root.attrib]
    faults += [value for element in root.iter() for value in element.attrib.values() if "://" in value]
    faults += [f"{name}={value}" for element in root.iter() for name, value in element.attrib.items()
               if value in ("nan", "inf", "-nan", "-inf")]
    return faults
