"""Puts the libraries that installed programs load, and that another machine may lack, beside them, with their licences.

usage: bundle_libraries.py TREE SITE CONTENTS

TREE is what cmake --install made (PREDGEN_INSTALL_LIBTORCH=CPU); SITE holds the wheels that its libraries are from.
Debian's shared libraries, except those of glibc and the compiler, go to TREE/lib and find each other there. CONTENTS
becomes a JSON list of what is inside: name, version, origin, files, and the text of its licence.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

# Every system has these, and they must match the system: symbol versions keep them compatible.
SYSTEMS_OWN = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libutil|libstdc\+\+|libgcc_s)\.so\.\d+")
# These talk to sound servers, by plugins that the system has for its own libraries.
SOUND = ("libportaudio.so", "libpcaudio.so")
SYSTEM_FIRST = "/usr/lib/x86_64-linux-gnu:/usr/lib64:$ORIGIN"
WHEELS = {  # by wheel name: its files in TREE/lib, and its licence
    "torch": (["torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp.so.1"], "BSD-3-Clause"),
    "nvidia_cuda_runtime": (["torch/lib/libcudart.so.13"], "LicenseRef-NVIDIA-CUDA-EULA"),
    "nvidia_cuda_cupti": (["torch/lib/libcupti.so.13"], "LicenseRef-NVIDIA-CUDA-EULA"),
    "pyarrow": (["libarrow.so", "libparquet.so"], "Apache-2.0"),
    "sherpa_onnx_core": (["libsherpa-onnx-c-api.so", "libonnxruntime.so"], "Apache-2.0 AND MIT"),
}


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def loaded_by(path):
    """(name, path) of every library that is loaded with it."""
    listing = run("ldd", path)
    missing = re.findall(r"^\s*(\S+) => not found", listing, re.MULTILINE)
    if missing:
        sys.exit(f"{path}: {', '.join(missing)} is not found")
    return re.findall(r"^\s*(\S+) => (/\S+)", listing, re.MULTILINE)


def debian_package(path):
    """Name, version and source of the package that a file is from."""
    owner = run("dpkg-query", "-S", f"*/{path.resolve().name}").split(": ")[0].split(",")[0]
    name, version, source = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package}", owner).split()
    return name, version, source


def licence_text(file, licences, name):
    licences.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, licences / name)
    return str((licences / name).relative_to(licences.parents[3]))


def bundle_debian(tree, licences):
    libraries, found = tree / "lib", {}
    programs = [path for path in [*(tree / "libexec/predgen").iterdir(), *libraries.glob("*.so*")] if is_elf(path)]
    for name, path in sorted({pair for program in programs for pair in loaded_by(program)}):
        if SYSTEMS_OWN.fullmatch(name) or pathlib.Path(path).is_relative_to(tree):
            continue
        package, version, source = debian_package(pathlib.Path(path))
        copy = libraries / name
        shutil.copyfile(path, copy)
        run("strip", "--strip-unneeded", copy)
        run("patchelf", "--set-rpath", SYSTEM_FIRST if name.startswith(SOUND) else "$ORIGIN", copy)
        entry = found.setdefault(package, {"name": package, "version": version, "from": f"Debian, source {source}", "files": []})
        entry["files"].append(f"lib/{name}")
    if (tree / "libexec/predgen/predgen-espeak").exists():
        data = pathlib.Path("/usr/lib/x86_64-linux-gnu/espeak-ng-data")
        shutil.copytree(data, tree / "share/espeak-ng-data")
        package, version, source = debian_package(data / "phontab")
        found[package] = {"name": package, "version": version, "from": f"Debian, source {source}", "files": ["share/espeak-ng-data"]}
    for name, entry in found.items():
        entry["text"] = licence_text(f"/usr/share/doc/{name}/copyright", licences, f"{name}.txt")
    return list(found.values())


def bundle_wheels(tree, site, licences):
    entries = []
    for wheel, (prefixes, licence) in WHEELS.items():
        files = [str(path.relative_to(tree)) for path in sorted((tree / "lib").rglob("*.so*"))
                 if str(path.relative_to(tree / "lib")).startswith(tuple(prefixes))]
        if not files:
            continue
        for file in files:
            run("strip", "--strip-unneeded", tree / file)
        info = next(site.glob(f"{wheel}-*.dist-info"))
        texts = sorted([*(info / "licenses").glob("*"), *info.glob("LICENSE*")])
        kept = [licence_text(text, licences, f"{wheel}.{text.stem}.txt") for text in texts]
        version = re.search(r"^Version: (.*)$", (info / "METADATA").read_text(), re.MULTILINE)[1]
        entries.append({"name": wheel, "version": version, "from": "wheel of the Python package index", "files": files,
                        "licence": licence, "text": kept[0] if kept else None})
    return entries


def main(tree, site, contents):
    tree = pathlib.Path(tree).resolve()
    licences = tree / "share/doc/predgen/licences"
    entries = [*bundle_wheels(tree, pathlib.Path(site), licences), *bundle_debian(tree, licences)]
    pathlib.Path(contents).write_text(json.dumps([{**entry, "tree": str(tree)} for entry in entries], indent=1))
    print(f"bundle_libraries: {sum(len(entry['files']) for entry in entries)} files of {len(entries)} packages")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
