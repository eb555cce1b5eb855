#pragma once

#include <cstdint>
#include <string>

#include "runtime/converse/history.h"
#include "runtime/converse/words_end.h"
#include "runtime/speculate/input_time_speculator.h"
#include "text/sentence/sentence_splitter.h"
#include "text/tokenizer.h"

namespace predgen {

/// The model's idle work in a turn, while the draft is complete and nothing newer is heard: other
/// answers, which the next update verifies as candidates. SpeculationConfig says how many.
class IdleWork {
 public:
  /// Borrows speculator and tokenizer.
  IdleWork(InputTimeSpeculator& speculator, const Tokenizer& tokenizer, SplitMode split_mode,
           RenderPrompt render);

  // Both return the number of new tokens. `draft`: limits of a draft; its should_stop ends the
  // call, which keeps what it has by then.

  /// Generates other answers to the current prompt.
  int64_t branch(const GenerationConfig& draft);
  /// Answers what the model expects the user to say after `heard`, which `prompt` renders. Does
  /// nothing if it has already finished that answer.
  int64_t answer_next_words(const std::string& heard, const History::Prompt& prompt,
                            const GenerationConfig& draft);

 private:
  std::string next_words(const std::string& heard, const History::Prompt& prompt,
                         GenerationConfig config);
  /// An answer is complete once its first sentence is.
  IsWhole follow_answer() const;

  InputTimeSpeculator& speculator_;
  const Tokenizer& tokenizer_;
  const SplitMode split_mode_;
  const RenderPrompt render_;
  TokenIds foreseen_;  // the last prompt whose next words were answered
};

}  // namespace predgen
