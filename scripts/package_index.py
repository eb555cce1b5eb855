"""Downloads one file of a package index and checks its size and SHA-256, for scripts that need a part of it.

Asks the package index that pip is configured for: PIP_INDEX_URL or pip's own files, else PyPI.
PIP_CERT and PIP_NO_INDEX work as for pip.
"""
import base64
import errno
import hashlib
import http.client
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
import urllib.error
import urllib.parse
import urllib.request


LARGEST_PAGE = 64 << 20  # bytes of an index's page about a package; the largest that we read have 3 MB


class DownloadError(Exception):
    """One line that says why a file could not be fetched."""


class Redirects(urllib.request.HTTPRedirectHandler):
    """The login is for the server that was asked, and not for one that it names."""

    def redirect_request(self, request, *details):
        redirected = super().redirect_request(request, *details)
        if redirected is not None and server(redirected.full_url) != server(request.full_url):
            redirected.remove_header("Authorization")
        return redirected


def server(url):
    return urllib.parse.urlsplit(url)[:2]


def index_url():
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    for key in ("install.index-url", "global.index-url"):
        command = [sys.executable, "-m", "pip", "config", "get", key]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return result.stdout.strip()
    try:
        from pip._internal.models.index import PyPI  # pip gives its default in no other way
    except ImportError:
        raise DownloadError(f"{sys.executable} has no pip, which knows the package index: install it (Debian: "
                            "python3-pip), take the Python that scripts/setup.sh prints, or set PIP_INDEX_URL") from None
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
    opener = urllib.request.build_opener(Redirects, urllib.request.HTTPSHandler(context=context))
    return opener.open(request, timeout=180)


def without_login(url):
    """A URL as messages may show it."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def read_page(page):
    """An index's page about a package, its URL, and whether it is JSON."""
    try:
        with open_url(page, Accept="application/vnd.pypi.simple.v1+json, text/html;q=0.5") as answer:
            text = answer.read(LARGEST_PAGE + 1)
            if len(text) > LARGEST_PAGE:
                raise DownloadError(f"{without_login(page)} has more than {LARGEST_PAGE} bytes")
            return text.decode(), answer.geturl(), "json" in answer.headers.get("Content-Type", "")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        raise DownloadError(f"the package index has no such package (HTTP 404): {without_login(page)}") from error


def file_url(index, package, name):
    """The URL of the file `name` of `package`, by the index, which answers in JSON, or in HTML if it is
    an old one."""
    page = f"{index.rstrip('/')}/{package}/"
    text, base, is_json = read_page(page)
    if is_json:
        links = [entry["url"] for entry in json.loads(text)["files"]]
    else:
        links = re.findall(r"""href=["']([^"'#]+)""", text)
    for link in links:
        if link.partition("#")[0].endswith("/" + name):
            return urllib.parse.urljoin(base, link)
    raise DownloadError(f"{without_login(page)} has no {name} any more")


def show(done, size):
    """How far the downloads of a model are, on a terminal."""
    if sys.stderr.isatty():
        end = "\r\033[K" if done == size else ""
        print(f"\r  {done / 1e6:.0f} of {size / 1e6:.0f} MB{end}", end="", file=sys.stderr, flush=True)


def copy_to(url, path, size, sha256, before, total):
    digest, room = hashlib.sha256(), size
    with open_url(url) as answer, open(path, "wb") as file:
        while block := answer.read(min(1 << 20, room + 1)):
            if len(block) > room:
                raise DownloadError(f"{without_login(url)} has more than {size} bytes, which is the size that it should have")
            room -= len(block)
            digest.update(block)
            file.write(block)
            show(before + size - room, total)
    if digest.hexdigest() != sha256:
        raise DownloadError(f"{without_login(url)} has the SHA-256 {digest.hexdigest()} instead of {sha256}")


def advice(error):
    """What to do about an error, after its message."""
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "; free some room there" if is_full else ""


def download(package, name, size, sha256, path, before=0, total=0):
    """Writes the file `name` of `package`, of `size` bytes, to `path`. `before`: bytes that were downloaded for the
    same model, of `total`. DownloadError is one line."""
    if os.environ.get("PIP_NO_INDEX"):
        raise DownloadError(f"PIP_NO_INDEX forbids downloading {name}")
    try:
        copy_to(file_url(index_url(), package, name), path, size, sha256, before, total or size)
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:  # urllib's errors are OSErrors, too
        raise DownloadError(f"could not download {name}: {error or type(error).__name__}{advice(error)}") from error


def unpack(package, name, size, sha256, place, target):
    """Downloads a source distribution and makes the folder `target` of files in it, whole or not at all.
    `place`: a member's name to its path in `target`, or None. DownloadError is one line."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        archive, folder = pathlib.Path(work, name), pathlib.Path(work, "files")
        download(package, name, size, sha256, archive)
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and (path := place(member.name)):
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(tar.extractfile(member).read())
        shutil.rmtree(target, ignore_errors=True)
        os.rename(folder, target)
