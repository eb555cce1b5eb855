#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/grading.h"
#include "hear/transcripts/recorded_source.h"
#include "text/tokenizer.h"

namespace predgen::evaluate {

/// The call that a request wants.
struct RightCall {
  std::string name{};               // of the tool; empty: none is to be called
  Json arguments = Json::object();  // of each the value, or a list of those that are right
  std::string group{};              // of its tool: "reads, 1 s"
};

/// One user turn of a benchmark set.
struct EvalTurn {
  std::string id;
  std::vector<Message> history;  // user and assistant alternate, the assistant last
  std::string prompt_text;       // what the user says in the end
  // Not empty: replayed as recorded, the last one final. Empty: prompt_text is typed at a rate.
  std::vector<Transcript> recorded;
  std::string reference{};  // the dataset's answer; empty: it has none
  // Its history is the set's previous turn with the method's own answer, and that turn's history.
  bool continues = false;
  std::string instruction{};  // ends the system message; known before the user's first word
  std::string question{};     // the set's question, if prompt_text says more
  std::string category{};     // of the set; empty: it has none
  std::optional<RightAnswer> right_answer{};
  std::optional<RightCall> right_call{};  // of a set with tools; nullopt: it does not say
  std::optional<RecordedVoice> voice{};   // of what was recorded; nullopt: the set does not say
  std::string source{};  // where the set has the prompt from; empty: it does not say
};

}  // namespace predgen::evaluate
