"""The commands of a build by g++ as clang takes them."""
import json
import os
import pathlib
import re

FOR_GCC = ("-fpch-preprocess", "-Winvalid-pch", "-Wno-maybe-uninitialized", "-fno-tree-pre", "-fno-tree-loop-distribute-patterns")


def clang_commands(build: pathlib.Path) -> list[dict[str, str]]:
    """The entries of compile_commands.json, without what is for g++ alone."""
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        command = re.sub(r" -include \S*cmake_pch\.hxx", " -include ATen/ATen.h", entry["command"])
        for option in FOR_GCC:
            command = command.replace(" " + option, "")
        entry["command"] = re.sub(r" -nostdinc( -isystem /usr/\S+)*", "", command)  # those are headers of g++
    return entries
