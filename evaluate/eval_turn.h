#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluate/grading.h"
#include "runtime/listen/recorded_source.h"
#include "text/tokenizer.h"

namespace predgen::evaluate {

/// One user turn of a benchmark set.
struct EvalTurn {
  std::string id;
  std::vector<Message> history;  // user and assistant in turn, ends with the assistant
  std::string prompt_text;       // what the user says in the end
  // Not empty: replayed as recorded, the last one final. Empty: prompt_text is typed at a rate.
  std::vector<Transcript> recorded;
  std::string reference{};  // what the dataset answers; empty where it says nothing
  // Its history is the turn before it in the set with the method's own answer, and that one's.
  bool continues = false;
  std::string instruction{};  // ends the system message; there before the user's first word
  std::string question{};     // of the set, where prompt_text says more than that
  std::string category{};     // of the set; empty: it has none
  std::optional<RightAnswer> right_answer{};
  std::optional<RecordedVoice> voice{};  // of what was recorded; nothing: the set does not say
  std::string source{};  // where the set has the prompt from; empty: it does not say
};

}  // namespace predgen::evaluate
