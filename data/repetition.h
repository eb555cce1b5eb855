#pragma once

#include <cstdint>
#include <string>

#include "text/token_ids.h"

namespace predgen::data {

/// When an answer counts as stuck in repetition; 0 disables a rule.
struct RepetitionConfig {
  int64_t max_token_run = 10;        // this many equal tokens in a row
  int64_t ngram_size = 8;            // tokens, and ..
  int64_t max_ngram_repeats = 3;     // .. this many occurrences of one n-gram
  int64_t max_sentence_repeats = 3;  // of a sentence of three words or more
};

/// Counter name of the first rule that drops the answer; empty: keep it. `text` is the decoded
/// answer.
std::string find_repetition(TokenSpan answer, const std::string& text,
                            const RepetitionConfig& config);

/// Whether a conversation ends an answer here: find_repetition() with its defaults.
bool repeats_itself(TokenSpan answer, const std::string& text);

}  // namespace predgen::data
