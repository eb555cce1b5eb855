"""Fetches the sources of XGrammar (Apache-2.0), which text/grammar is built on, from its source distribution
on PyPI: the library without its bindings and tests, the headers that it needs, and their licences.

usage: fetch_xgrammar.py FOLDER      makes FOLDER/{LICENSE,NOTICE,cpp/,include/,3rdparty/}, whole or not at all

Asks the package index that pip is configured for (package_index.py).
"""
import pathlib
import re
import sys

from package_index import DownloadError, unpack

PACKAGE = "xgrammar"
FILE = "xgrammar-0.2.9.tar.gz"
SIZE = 2763853
SHA256 = "87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90"
WANTED = re.compile(r"[^/]+/(LICENSE|NOTICE|(?:cpp(?:/support|/converter_ext)?|include/xgrammar)/[^/]+\.(?:cc|h)|"
                    r"3rdparty/(?:picojson/picojson\.h|dlpack/(?:LICENSE|include/dlpack/dlpack\.h)))")


def place(member):
    match = WANTED.fullmatch(member)
    return match and match[1]


if __name__ == "__main__":
    try:
        unpack(PACKAGE, FILE, SIZE, SHA256, place, pathlib.Path(sys.argv[1]))
    except DownloadError as error:
        sys.exit(str(error))
