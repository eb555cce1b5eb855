#pragma once

// clang-format off
// Made by scripts/make_unicode_gaps.py with PCRE2 10.42, utf8proc 2.8.0, tokenizers 0.23.3; do not edit.

#include <string_view>

namespace predgen {

struct CharacterRange {
  char32_t first, last;
};

constexpr std::string_view kGapLetters =
    R"(\x{1c89}\x{1c8a}\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{105c0}-\x{105f3})"
    R"(\x{10d4a}-\x{10d65}\x{10d6f}-\x{10d85}\x{10ec2}-\x{10ec4}\x{1123f}\x{11240})"
    R"(\x{11380}-\x{11389}\x{1138b}\x{1138e}\x{11390}-\x{113b5}\x{113b7}\x{113d1}\x{113d3})"
    R"(\x{11bc0}-\x{11be0}\x{11f02}\x{11f04}-\x{11f10}\x{11f12}-\x{11f33}\x{1342f})"
    R"(\x{13441}-\x{13446}\x{13460}-\x{143fa}\x{16100}-\x{1611d}\x{16d40}-\x{16d6c}\x{18cff})"
    R"(\x{1b132}\x{1b155}\x{1df25}-\x{1df2a}\x{1e030}-\x{1e06d}\x{1e4d0}-\x{1e4eb})"
    R"(\x{1e5d0}-\x{1e5ed}\x{1e5f0}\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})";
constexpr std::string_view kGapUpperLetters =
    R"(\x{1c89}\x{a7cb}\x{a7cc}\x{a7da}\x{a7dc}\x{10d50}-\x{10d65})";
constexpr std::string_view kGapLowerLetters =
    R"(\x{1c8a}\x{a7cd}\x{a7db}\x{10d70}-\x{10d85}\x{1df25}-\x{1df2a})";
constexpr std::string_view kGapModifierLetters =
    R"(\x{10d4e}\x{10d6f}\x{16d40}-\x{16d42}\x{16d6b}\x{16d6c}\x{1e030}-\x{1e06d}\x{1e4eb})";
constexpr std::string_view kGapOtherLetters =
    R"(\x{105c0}-\x{105f3}\x{10d4a}-\x{10d4d}\x{10d4f}\x{10ec2}-\x{10ec4}\x{1123f}\x{11240})"
    R"(\x{11380}-\x{11389}\x{1138b}\x{1138e}\x{11390}-\x{113b5}\x{113b7}\x{113d1}\x{113d3})"
    R"(\x{11bc0}-\x{11be0}\x{11f02}\x{11f04}-\x{11f10}\x{11f12}-\x{11f33}\x{1342f})"
    R"(\x{13441}-\x{13446}\x{13460}-\x{143fa}\x{16100}-\x{1611d}\x{16d43}-\x{16d6a}\x{18cff})"
    R"(\x{1b132}\x{1b155}\x{1e4d0}-\x{1e4ea}\x{1e5d0}-\x{1e5ed}\x{1e5f0}\x{2b739})"
    R"(\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})";
constexpr std::string_view kGapMarks =
    R"(\x{897}\x{cf3}\x{ece}\x{10d69}-\x{10d6d}\x{10efc}-\x{10eff}\x{11241})"
    R"(\x{113b8}-\x{113c0}\x{113c2}\x{113c5}\x{113c7}-\x{113ca}\x{113cc}-\x{113d0}\x{113d2})"
    R"(\x{113e1}\x{113e2}\x{11f00}\x{11f01}\x{11f03}\x{11f34}-\x{11f3a}\x{11f3e}-\x{11f42})"
    R"(\x{11f5a}\x{13440}\x{13447}-\x{13455}\x{1611e}-\x{1612f}\x{1e08f}\x{1e4ec}-\x{1e4ef})"
    R"(\x{1e5ee}\x{1e5ef})";
constexpr std::string_view kGapNumbers =
    R"(\x{10d40}-\x{10d49}\x{116d0}-\x{116e3}\x{11bf0}-\x{11bf9}\x{11f50}-\x{11f59})"
    R"(\x{16130}-\x{16139}\x{16d70}-\x{16d79}\x{1ccf0}-\x{1ccf9}\x{1d2c0}-\x{1d2d3})"
    R"(\x{1e4f0}-\x{1e4f9}\x{1e5f1}-\x{1e5fa})";
constexpr std::string_view kGapDigits =
    R"(\x{10d40}-\x{10d49}\x{116d0}-\x{116e3}\x{11bf0}-\x{11bf9}\x{11f50}-\x{11f59})"
    R"(\x{16130}-\x{16139}\x{16d70}-\x{16d79}\x{1ccf0}-\x{1ccf9}\x{1e4f0}-\x{1e4f9})"
    R"(\x{1e5f1}-\x{1e5fa})";
constexpr CharacterRange kGapInert[] = {
    {0x7FD, 0x7FD},
    {0x898, 0x89F},
    {0x8CA, 0x8D3},
    {0x9FE, 0x9FE},
    {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},
    {0xEBA, 0xEBA},
    {0x1715, 0x1715},
    {0x1ABF, 0x1ACE},
    {0x1DF6, 0x1DFA},
    {0x32FF, 0x32FF},
    {0xA7F2, 0xA7F4},
    {0xA82C, 0xA82C},
    {0xAB69, 0xAB69},
    {0x10781, 0x10785},
    {0x10787, 0x107B0},
    {0x107B2, 0x107BA},
    {0x10D24, 0x10D27},
    {0x10EAB, 0x10EAC},
    {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50},
    {0x10F82, 0x10F85},
    {0x11070, 0x11070},
    {0x1133B, 0x1133B},
    {0x1145E, 0x1145E},
    {0x11839, 0x1183A},
    {0x11930, 0x11930},
    {0x11938, 0x11938},
    {0x1193D, 0x1193E},
    {0x11943, 0x11943},
    {0x119E0, 0x119E0},
    {0x11A34, 0x11A34},
    {0x11A47, 0x11A47},
    {0x11A99, 0x11A99},
    {0x11D42, 0x11D42},
    {0x11D44, 0x11D45},
    {0x11D97, 0x11D97},
    {0x11F41, 0x11F42},
    {0x16FF0, 0x16FF1},
    {0x1E030, 0x1E06D},
    {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE},
    {0x1E2EC, 0x1E2EF},
    {0x1E4EC, 0x1E4EF},
    {0x1F16C, 0x1F16C},
    {0x1FBF0, 0x1FBF9},
};

}  // namespace predgen
