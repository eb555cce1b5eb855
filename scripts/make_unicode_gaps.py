#!/usr/bin/env python3
"""Makes text/unicode_gap_ranges.h: where the installed Unicode tables differ from those of the
library `tokenizers`, which decided the ids that models learnt. Compares every character.

usage: make_unicode_gaps.py [--check]     --check only tells whether the file is up to date

Needs the versions in VERSIONS, else says which are there and exits with 77. Newer libraries know more
characters; with them the file has more than it needs, which does no harm.
"""

import ctypes
import importlib.metadata
import itertools
import struct
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "text" / "unicode_gap_ranges.h"
VERSIONS = {"PCRE2": "10.42", "utf8proc": "2.8.0", "tokenizers": "0.23.3"}
CHARACTERS = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
OVERLAY, BELOW, ABOVE = "\u0334", "\u0316", "\u0301"  # combining classes 1, 220 and 230
UTF, UCP = 0x00080000, 0x00020000  # options of PCRE2


def load(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    print(f"none of {', '.join(names)}: not compared")
    sys.exit(77)


class Pcre2:
    """The installed library, as far as `\\p{..}` of one character goes."""

    def __init__(self):
        self.library = load("libpcre2-8.so.0", "libpcre2-8.so")
        for name in ("pcre2_compile_8", "pcre2_match_data_create_8", "pcre2_get_ovector_pointer_8"):
            getattr(self.library, name).restype = ctypes.c_void_p

    def version(self):
        buffer = ctypes.create_string_buffer(64)
        self.library.pcre2_config_8(11, buffer)
        return buffer.value.decode().split()[0]

    def characters(self, name):
        pattern = rf"\p{{{name}}}".encode()
        error, offset = ctypes.c_int(), ctypes.c_size_t()
        code = ctypes.c_void_p(
            self.library.pcre2_compile_8(
                pattern, ctypes.c_size_t(len(pattern)), UTF | UCP, ctypes.byref(error), ctypes.byref(offset), None
            )
        )
        data = ctypes.c_void_p(self.library.pcre2_match_data_create_8(1, None))
        match = self.library.pcre2_match_8
        none = ctypes.c_size_t(0)
        found = set()
        for character in CHARACTERS:
            text = chr(character).encode()
            if match(code, text, ctypes.c_size_t(len(text)), none, 0, data, None) > 0:
                found.add(character)
        return found


class Utf8proc:
    def __init__(self):
        self.library = load("libutf8proc.so.2", "libutf8proc.so.3", "libutf8proc.so")
        self.library.utf8proc_version.restype = ctypes.c_char_p
        self.library.utf8proc_get_property.restype = ctypes.c_void_p
        self.library.utf8proc_decompose_char.restype = ctypes.c_ssize_t

    def version(self):
        return self.library.utf8proc_version().decode()

    def decomposed(self, character, compatible):
        output, last = (ctypes.c_int32 * 32)(), ctypes.c_int()
        options = 1 << 1 | 1 << 4 | (1 << 2 if compatible else 0)  # stable, decompose, compat
        count = self.library.utf8proc_decompose_char(
            character, output, ctypes.c_ssize_t(32), options, ctypes.byref(last)
        )
        return output[:count]

    def is_inert(self, character):
        """No combining class, and no decomposition, not even for compatibility."""
        start = ctypes.string_at(self.library.utf8proc_get_property(character), 4)
        _, combining_class = struct.unpack("HH", start)
        return combining_class == 0 and self.decomposed(character, True) == [character]


def characters_of_tokenizers(name):
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    others = Split(Regex(rf"\p{{{name}}}+"), "removed").pre_tokenize_str("".join(map(chr, CHARACTERS)))
    found = set(CHARACTERS)
    for text, _ in others:
        found.difference_update(map(ord, text))
    return found


def is_inert_in_tokenizers(character):
    from tokenizers.normalizers import NFD, NFKD

    alone = chr(character)
    beside = [f"a{alone}{OVERLAY}", f"a{ABOVE}{alone}", f"a{BELOW}{alone}"]
    return NFKD().normalize_str(alone) == alone and all(NFD().normalize_str(text) == text for text in beside)


def characters_newer_than_normal_forms(utf8proc):
    newer = {code for code in CHARACTERS if not utf8proc.is_inert(code) and is_inert_in_tokenizers(code)}
    # Nor may neighbours become one of these: what ends its decomposition but no older character's.
    ends = {True: set(), False: set()}
    for code in CHARACTERS:
        parts = utf8proc.decomposed(code, False)
        if len(parts) > 1:
            ends[code in newer].add(parts[-1])
    return newer | (ends[True] - ends[False])


def ranges(characters):
    """[(first, last)] in order."""
    groups = itertools.groupby(enumerate(sorted(characters)), lambda pair: pair[1] - pair[0])
    members = [[code for _, code in group] for _, group in groups]
    return [(group[0], group[-1]) for group in members]


def spelled(first, last):
    between = [] if first == last else ["-"] if last - first > 1 else [""]
    return rf"\x{{{first:x}}}" + "".join(between) + (rf"\x{{{last:x}}}" if between else "")


def class_lines(name, characters):
    """The inside of a character class as a C++ string."""
    lines = [""]
    for part in itertools.starmap(spelled, ranges(characters)):
        if len(lines[-1]) + len(part) > 85:
            lines.append("")
        lines[-1] += part
    body = "\n".join(f'    R"({line})"' for line in lines)
    return f"constexpr std::string_view {name} =\n{body};\n"


def gap(pcre2, name):
    ours, theirs = pcre2.characters(name), characters_of_tokenizers(name)
    assert ours <= theirs, f"\\p{{{name}}}: {sorted(map(hex, ours - theirs))} are new to tokenizers"
    return theirs - ours


def made(pcre2, utf8proc):
    classes = {"kGapLetters": "L", "kGapUpperLetters": "Lu", "kGapLowerLetters": "Ll", "kGapModifierLetters": "Lm",
               "kGapOtherLetters": "Lo", "kGapMarks": "M", "kGapNumbers": "N", "kGapDigits": "Nd"}
    tables = "".join(class_lines(name, gap(pcre2, letter)) for name, letter in classes.items())
    newer = ranges(characters_newer_than_normal_forms(utf8proc))
    inert = "".join(f"    {{0x{first:X}, 0x{last:X}}},\n" for first, last in newer)
    versions = ", ".join(f"{name} {version}" for name, version in VERSIONS.items())
    return f"""#pragma once

// clang-format off
// Made by scripts/make_unicode_gaps.py with {versions}; do not edit.

#include <string_view>

namespace predgen {{

struct CharacterRange {{
  char32_t first, last;
}};

{tables}constexpr CharacterRange kGapInert[] = {{
{inert}}};

}}  // namespace predgen
"""


def main():
    pcre2, utf8proc = Pcre2(), Utf8proc()
    try:
        tokenizers = importlib.metadata.version("tokenizers")
    except importlib.metadata.PackageNotFoundError:
        tokenizers = "absent"
    versions = {"PCRE2": pcre2.version(), "utf8proc": utf8proc.version(), "tokenizers": tokenizers}
    if versions != VERSIONS:
        print(f"not compared: here are {versions}, the file is for {VERSIONS}")
        return 77
    text = made(pcre2, utf8proc)
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET} is not what {Path(__file__).name} makes; run it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
