#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "voice/clauses/split_clauses.h"

namespace predgen {

/// What a network speaks in one pass: a clause, or several short ones.
struct SpokenPiece {
  // IPA: phonemes separated by '_', words by a space, each clause's mark after its last word.
  std::string phonemes;
  std::string mark;  // that of its last clause
};

/// Limits of a group of clauses: at most `longest` characters, except for a single clause, and at
/// least `shortest` on either side where groups are split at a clause mark. Networks were trained
/// on whole sentences, so a word or two alone have no melody.
struct PieceLimits {
  int64_t shortest = 16;
  int64_t longest = 120;
};

/// Clauses in groups, in order. A clause that is too long is cut at its spaces, where each part but
/// the last has no mark.
std::vector<std::vector<Clause>> group_clauses(const std::vector<Clause>& clauses,
                                               const PieceLimits& limits);

/// The clauses of a group as a piece, given espeak's raw answer for each, without language switches
/// such as "(fr)". No phonemes: nothing in it has a sound.
SpokenPiece spoken_piece(const std::vector<Clause>& group,
                         const std::vector<std::string>& pronounced);

/// All of a text (well-formed UTF-8), as pieces of at most `longest` characters of phonemes.
/// `pronounce`: espeak's raw answer for each of these clauses.
std::vector<SpokenPiece> spoken_pieces(
    std::string_view text, int64_t longest,
    const std::function<std::vector<std::string>(const std::vector<std::string>&)>& pronounce);

/// Splits the piece at spaces into parts of at most `longest` characters of phonemes: a few digits
/// can be many words.
std::vector<SpokenPiece> cut_phonemes(SpokenPiece piece, int64_t longest);

}  // namespace predgen
