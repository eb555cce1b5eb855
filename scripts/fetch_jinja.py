"""Fetches chat templates of many models for the tests: those of llama.cpp (MIT), which the source
distribution of llama-cpp-python on PyPI carries.

usage: fetch_jinja.py FOLDER      makes FOLDER/{LICENSE,templates/}, whole or not at all

Asks the package index that pip is configured for (package_index.py).
"""
import pathlib
import re
import sys

from package_index import DownloadError, download, unpack

PACKAGE = "llama-cpp-python"
FILE = "llama_cpp_python-0.3.36.tar.gz"
SIZE = 76589250
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
WANTED = re.compile(r"[^/]+/vendor/llama\.cpp/(?:models/(templates/[^/]+\.jinja)|(LICENSE))$")


def fetch(archive):
    """Downloads the source distribution to the file `archive`. DownloadError is one line."""
    download(PACKAGE, FILE, SIZE, SHA256, archive)


def place(member):
    match = WANTED.fullmatch(member)
    return match and (match[1] or match[2])


if __name__ == "__main__":
    try:
        unpack(PACKAGE, FILE, SIZE, SHA256, place, pathlib.Path(sys.argv[1]))
    except DownloadError as error:
        sys.exit(str(error))
