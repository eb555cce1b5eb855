"""Fetches chat templates of many models for the tests: those of llama.cpp (MIT), which the source
distribution of llama-cpp-python on PyPI carries.

usage: fetch_jinja.py FOLDER      makes FOLDER/{LICENSE,templates/}, whole or not at all

Asks the package index that pip is configured for (package_index.py).
"""
import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile

from package_index import DownloadError, download

PACKAGE = "llama-cpp-python"
FILE = "llama_cpp_python-0.3.36.tar.gz"
SIZE = 76589250
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
WANTED = re.compile(r"[^/]+/vendor/llama\.cpp/(?:models/(templates/[^/]+\.jinja)|(LICENSE))$")


def extract(archive, folder):
    with tarfile.open(archive) as tar:
        for member in tar:
            match = WANTED.fullmatch(member.name)
            if match and member.isfile():
                path = folder / next(filter(None, match.groups()))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())


def fetch(archive):
    """Downloads the source distribution to the file `archive`. DownloadError is one line."""
    download(PACKAGE, FILE, SIZE, SHA256, archive)


def main():
    target = pathlib.Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        archive, folder = pathlib.Path(work, FILE), pathlib.Path(work, "files")
        try:
            fetch(archive)
        except DownloadError as error:
            sys.exit(str(error))
        extract(archive, folder)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(folder, target)


if __name__ == "__main__":
    main()
