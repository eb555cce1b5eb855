"""Fetches the Jinja engine that runs chat templates: llama.cpp's (MIT), which the source distribution
of llama-cpp-python on PyPI carries. Keeps the engine, its licence, and the models' templates that
come with it, which tests use.

usage: fetch_jinja.py FOLDER      makes FOLDER/{LICENSE,jinja/,templates/}, whole or not at all

Asks the package index that pip is configured for: PIP_INDEX_URL or pip's own files, else PyPI.
PIP_CERT and PIP_NO_INDEX mean what they mean to pip.
"""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request

FILE = "llama_cpp_python-0.3.36.tar.gz"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
WANTED = re.compile(r"[^/]+/vendor/llama\.cpp/(?:common/(jinja/[^/]+)|models/(templates/[^/]+\.jinja)|(LICENSE))$")


def index_url():
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    for key in ("install.index-url", "global.index-url"):
        command = [sys.executable, "-m", "pip", "config", "get", key]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return result.stdout.strip()
    from pip._internal.models.index import PyPI  # pip tells its default in no other way
    return PyPI.simple_url


def open_url(url, **headers):
    """`user:password@` in the URL, as pip takes it, becomes a header."""
    parts = urllib.parse.urlsplit(url)
    if parts.username is not None:
        login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    request = urllib.request.Request(urllib.parse.urlunsplit(parts), headers=headers)
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    return urllib.request.urlopen(request, timeout=180, context=context)


def file_url(index):
    """Where the index says that FILE lies; it answers in JSON, or in HTML if it is an old one."""
    page = index.rstrip("/") + "/llama-cpp-python/"
    with open_url(page, Accept="application/vnd.pypi.simple.v1+json, text/html;q=0.5") as answer:
        text, base = answer.read().decode(), answer.geturl()
        is_json = "json" in answer.headers.get("Content-Type", "")
    if is_json:
        links = [entry["url"] for entry in json.loads(text)["files"]]
    else:
        links = re.findall(r"""href=["']([^"'#]+)""", text)
    for link in links:
        if link.partition("#")[0].endswith("/" + FILE):
            return urllib.parse.urljoin(base, link)
    sys.exit(f"{page} has no {FILE}")


def download(url, path):
    digest = hashlib.sha256()
    with open_url(url) as answer, open(path, "wb") as file:
        while block := answer.read(1 << 20):
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != SHA256:
        sys.exit(f"{url} has the SHA-256 {digest.hexdigest()} instead of {SHA256}")


def extract(archive, folder):
    with tarfile.open(archive) as tar:
        for member in tar:
            match = WANTED.fullmatch(member.name)
            if match and member.isfile():
                path = folder / next(filter(None, match.groups()))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())


def main():
    if os.environ.get("PIP_NO_INDEX"):
        sys.exit(f"PIP_NO_INDEX forbids downloading {FILE}")
    target = pathlib.Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        archive, folder = pathlib.Path(work, FILE), pathlib.Path(work, "files")
        try:
            download(file_url(index_url()), archive)
        except OSError as error:  # urllib's errors are, too
            sys.exit(f"could not download {FILE}: {error}")
        extract(archive, folder)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(folder, target)


if __name__ == "__main__":
    main()
