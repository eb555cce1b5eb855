#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// The words between two marks.
struct Clause {
  std::string text;  // trimmed, with the marks at its end: espeak-ng's input
  std::string mark;  // its melody: one of , ; : . ! ? and the dash and ellipsis; empty: none
};

/// The clauses of a sentence, in order: well-formed UTF-8, as speakable_text() gives it. Marks of
/// other scripts also end clauses and are mapped to the equivalent mark. Text without letters and
/// digits joins the clause after it, or is dropped at the end.
std::vector<Clause> split_clauses(std::string_view text);

/// Whether the mark ends a sentence: . ! ? or an ellipsis.
bool ends_sentence(std::string_view mark);

/// Cuts a text (well-formed UTF-8) into parts of at most `max_characters`, none of them empty, that
/// are spoken one after the other: after the last sentence or clause mark that fits, else at the
/// last space, else anywhere. Zonos was trained on clips of up to 30 s, 300 characters take about
/// 20 s.
std::vector<std::string> speech_parts(std::string_view text, int64_t max_characters = 300);

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
