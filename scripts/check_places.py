"""Fails when the build read a header, or links a library, that another machine may lack.

usage: check_places.py BUILD [FOLDER..]

The headers that ninja recorded for BUILD, and the libraries that its programs find, must lie in the folders of the
system's packages, in BUILD or in the FOLDERs: the repository, the Python environment, a toolkit that was named.
"""
import os
import pathlib
import re
import subprocess
import sys

SYSTEM = ["/usr/include", "/usr/lib", "/usr/lib64", "/usr/share", "/lib", "/lib64", "/usr/libexec"]
PROGRAMS = ["predgen", "predgen-espeak", "predgen-ears", "libpredgen_cuda.so"]


def is_below(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def strangers(paths, folders: list[str]) -> list[str]:
    """Those that lie elsewhere, under their own name or under that of what they link to."""
    return sorted({path for path in paths
                   if not (is_below(os.path.normpath(path), folders) or is_below(os.path.realpath(path), folders))})


def headers_of(build: pathlib.Path) -> set[str]:
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"^    (.+)$", listing, re.MULTILINE)
    return {os.path.join(build, path) for path in paths}


def libraries_of(program: pathlib.Path) -> set[str]:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    listing = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env=environment).stdout
    missing = re.findall(r"^\s*(\S+) => not found", listing, re.MULTILINE)
    return {*re.findall(r"=> (/\S+)", listing), *(f"{name} (not found)" for name in missing)}


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    build = pathlib.Path(sys.argv[1])
    folders = [*SYSTEM, str(build), *(folder for folder in sys.argv[2:] if folder)]
    folders += [os.path.realpath(folder) for folder in folders]
    headers = headers_of(build)
    if not headers:
        sys.exit(f"{build}: ninja has recorded no header")
    libraries = set().union(*(libraries_of(build / name) for name in PROGRAMS if (build / name).exists()))
    found = strangers(headers, folders), strangers(libraries, folders)
    for kind, paths in zip(("header", "library"), found):
        for path in paths[:20]:
            print(f"{path}: a {kind} that set-up does not bring")
    print(f"{len(headers)} files read and {len(libraries)} libraries linked, {sum(map(len, found))} from elsewhere")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
