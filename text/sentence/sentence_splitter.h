#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/sentence/sentence_end.h"
#include "text/streaming_text.h"
#include "text/tokenizer.h"

namespace predgen {

/// kPaper: the first token whose text holds '.', '?' or '!' ends the sentence (arXiv 2506.15556
/// A.1; "1.", "Dr." and a point within code count): for figures that are compared with the paper's.
/// kNatural: sentence_end.h; fenced code is one sentence, and tokens do not matter.
enum class SplitMode { kNatural, kPaper };

/// Watches an answer's tokens for the ends of sentences. Borrows the tokenizer.
class SentenceSplitter {
 public:
  SentenceSplitter(const Tokenizer& tokenizer, SplitMode mode);

  struct Sentence {
    std::string text;        // trimmed, not empty
    int64_t num_tokens = 0;  // from the answer's start through the sentence's last token
  };
  /// Takes the next token; returns the sentences that it confirmed, mostly none or one. A
  /// sentence's last token may be an earlier one.
  std::vector<Sentence> push(TokenId token);
  /// Takes the next token as the text that it completed or made certain; returns the sentences that
  /// it confirmed.
  std::vector<Sentence> push_text(std::string_view text);
  /// Ends the answer (stop token or limit); returns the rest, mostly one sentence. `rest`: text
  /// that push_text() did not get.
  std::vector<Sentence> finish(std::string_view rest = {});

  /// The answer's text as far as its characters are complete.
  const std::string& text() const { return text_.text(); }

 private:
  std::vector<Sentence> take_natural(bool complete);
  void take(size_t end, std::vector<Sentence>& sentences);  // the text from begin_ to byte `end`

  const Tokenizer* tokenizer_;
  SplitMode mode_;
  StreamingText text_;
  SentenceEndFinder ends_;
  std::vector<size_t> token_ends_;  // bytes of text that were complete after each token
  size_t begin_ = 0;                // byte where the sentence under way begins
};

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
