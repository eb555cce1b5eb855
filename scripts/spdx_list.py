"""Prints what is inside the packages, as SPDX 2.3 in JSON.

usage: spdx_list.py CONTENTS VERSION SOURCES_SHA256 EPOCH

CONTENTS is what bundle_libraries.py wrote. A Debian package has the licence that its copyright file states for
"Files: *", by SPDX's name. If that is not one known word, the list refers to the file, which comes along.
"""
import datetime
import hashlib
import json
import pathlib
import re
import sys

# Debian's words for licences (its machine-readable copyright files) by SPDX's.
NAMES = {"Apache-2.0": "Apache-2.0", "BSD-3-clause": "BSD-3-Clause", "BSD-3-Clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause",
         "Expat": "MIT", "MIT": "MIT", "ISC": "ISC", "Zlib": "Zlib", "zlib": "Zlib",
         "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-3": "GPL-3.0-only", "GPL-3+": "GPL-3.0-or-later",
         "LGPL-2+": "LGPL-2.0-or-later", "LGPL-2.1": "LGPL-2.1-only", "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3+": "LGPL-3.0-or-later"}
OWN = [("predgen", "Apache-2.0", "all that is not listed below"),
       ("xgrammar", "Apache-2.0", "libexec/predgen/predgen, which has it compiled in"),
       ("picojson", "BSD-2-Clause", "the same, by way of xgrammar"), ("dlpack", "Apache-2.0", "the same"),
       ("predgen-espeak", "GPL-3.0-or-later", "libexec/predgen/predgen-espeak, which links espeak-ng"),
       ("predgen-demo-model", "CC-BY-SA-4.0", "share/predgen/checkpoints")]


def identifier(name):
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)


def debian_licence(text):
    stanza = re.search(r"^Files: \*\n(?:.*\n)*?License: *(\S.*)$", text, re.MULTILINE)
    return NAMES.get(stanza[1].strip()) if stanza else None


def package(name, version, licence, origin, comment, sha256=None):
    entry = {"SPDXID": f"SPDXRef-{identifier(name)}", "name": name, "versionInfo": version,
             "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
             "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
             "sourceInfo": origin, "comment": comment}
    if sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
    return entry


def main(contents, version, sources, epoch):
    packages, references = [], {}
    for name, licence, what in OWN:
        packages.append(package(name, version, licence, "this repository", what, sources if name == "predgen" else None))
    for entry in json.loads(pathlib.Path(contents).read_text()):
        text = pathlib.Path(entry["tree"], entry["text"]).read_text() if entry["text"] else ""
        licence = entry.get("licence") or debian_licence(text)
        if licence is None or licence.startswith("LicenseRef-"):
            licence = licence or f"LicenseRef-{identifier(entry['name'])}"
            references.setdefault(licence, {"licenseId": licence, "name": f"licence of {entry['name']}", "extractedText": text})
        packages.append(package(entry["name"], entry["version"], licence, entry["from"], ", ".join(entry["files"])))
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"predgen-{version}",
        "documentNamespace": "urn:predgen:" + hashlib.sha256(json.dumps([version, sources, packages]).encode()).hexdigest(),
        "creationInfo": {"created": datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: scripts/spdx_list.py"]},
        "packages": packages, "hasExtractedLicensingInfos": list(references.values()),
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-predgen"},
                          *({"spdxElementId": "SPDXRef-predgen", "relationshipType": "CONTAINS", "relatedSpdxElement": entry["SPDXID"]}
                            for entry in packages[1:])]}
    print(json.dumps(document, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
