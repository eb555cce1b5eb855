#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace predgen {

/// Byte just past the first clause of `text` (whole characters) that a voice can speak before the
/// rest of its sentence is known: 16 to 120 characters of plain words up to a comma, semicolon or
/// colon, with another word behind it. None: there is none, or not yet. More text does not change
/// an end that was found.
std::optional<size_t> first_clause_end(std::string_view text);

/// What a voice gets first of an answer: its first clause (first_clause_end()) if it has one, so
/// that the sound can begin before the first sentence is complete, and then the rest of the
/// sentence. A value.
class SpokenOpening {
 public:
  /// False: sentences are always whole.
  explicit SpokenOpening(bool has_clauses) : has_clauses_(has_clauses) {}

  /// The clause, once, when `answer`, the text so far, has it.
  std::optional<std::string> next_clause(std::string_view answer);
  /// What of the first sentence comes next: the clause, if there was one, else all of it.
  const std::string& of(const std::string& sentence) const {
    return clause_.empty() ? sentence : clause_;
  }
  /// And what comes after the clause, if there was one; else all of it.
  std::string rest_of(const std::string& sentence) const;

 private:
  bool has_clauses_;
  std::string clause_{};  // empty: none so far
};

}  // namespace predgen
