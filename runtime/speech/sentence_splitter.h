#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/streaming_text.h"
#include "model/tokenizer.h"

namespace predgen {

/// kPaper: the first token whose text holds '.', '?' or '!' ends the sentence (arXiv 2506.15556
/// A.1; "1." and "Dr." count). kNatural: abbreviations, decimals, list numbers, quotes, ellipses
/// and CJK ends are understood; an ambiguous end waits for the next character. Fenced code is one
/// sentence.
enum class SplitMode { kNatural, kPaper };

/// Byte offset just past the first natural sentence of `text` (closing quotes included, trailing
/// space not). Nothing: no sentence ends here yet. `complete`: no more text will come, so what is
/// there is a sentence if it is not blank.
/// Every end needs one following character (a digit, quote or second mark may come); a few need the
/// next word ("U.S. The"). `text` holds whole UTF-8 characters. What was once an end stays one
/// however the text goes on.
std::optional<size_t> find_sentence_end(std::string_view text, bool complete);

/// Watches an answer's tokens for the end of sentences. Borrows the tokenizer.
class SentenceSplitter {
 public:
  SentenceSplitter(const Tokenizer& tokenizer, SplitMode mode);

  struct Sentence {
    std::string text;        // trimmed, not empty
    int64_t num_tokens = 0;  // tokens from the answer's start up to and with the sentence's last
  };
  /// Next token; a sentence if it confirmed one. Its last token may lie before this one.
  std::optional<Sentence> push(TokenId token);
  /// The answer is over (stop token or limit): the last sentence, if anything is left.
  std::optional<Sentence> finish();

 private:
  Sentence take(size_t end);  // the text from begin_ up to byte `end` becomes a sentence

  const Tokenizer* tokenizer_;
  SplitMode mode_;
  StreamingText text_;
  std::vector<size_t> token_ends_;  // bytes of text that were complete after each token
  size_t begin_ = 0;                // byte where the sentence under way begins
};

/// How many of the answer's tokens belong to its first sentence; all if it is not finished. A stop
/// token at the end of the answer finishes it and is not counted.
int64_t first_sentence_length(const Tokenizer& tokenizer, SplitMode mode, TokenSpan answer);

}  // namespace predgen
