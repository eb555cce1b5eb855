"""The compile commands of a g++ build, changed for clang."""
import json
import os
import pathlib
import re

FOR_GCC = ("-fpch-preprocess", "-Winvalid-pch", "-Wno-maybe-uninitialized", "-fno-tree-pre", "-fno-tree-loop-distribute-patterns",
           "-fno-tree-sra")


def apart(entry: dict[str, str]) -> list[dict[str, str]]:
    """An entry for each of the sources that are compiled as one (CMAKE_UNITY_BUILD)."""
    if "/Unity/unity_" not in entry["file"]:
        return [entry]
    sources = re.findall(r'^#include "(.+)"', pathlib.Path(entry["file"]).read_text(), re.MULTILINE)
    return [entry | {"file": source, "command": entry["command"].replace(entry["file"], source)} for source in sources]


def headers_of(precompiled: str) -> str:
    """Options that include what CMake precompiled for g++."""
    headers = re.findall(r"^#include [<\"](.+)[>\"]", pathlib.Path(precompiled).read_text(), re.MULTILINE)
    return "".join(f" -include {header}" for header in headers)


def clang_commands(build: pathlib.Path) -> list[dict[str, str]]:
    """An entry of compile_commands.json for each source, without what is for g++ alone."""
    entries = [one for entry in json.loads((build / "compile_commands.json").read_text()) for one in apart(entry)]
    for entry in entries:
        command = re.sub(r" -include (\S*cmake_pch\.hxx)", lambda found: headers_of(found[1]), entry["command"])
        for option in FOR_GCC:
            command = command.replace(" " + option, "")
        entry["command"] = re.sub(r" -nostdinc( -isystem /usr/\S+)*", "", command)  # those are headers of g++
    return entries
