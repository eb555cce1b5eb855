#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "hear/transcripts/scheduled_source.h"
#include "text/tokenizer.h"

namespace predgen::evaluate {

/// What kind of answer is right, and how it is found in a text.
enum class AnswerKind {
  kNumber,  // of GSM8K, as lm-evaluation-harness 3.0 finds it
  kLetter,  // of an option of MMLU-Pro, as TIGER-AI-Lab's evaluate_from_local.py finds it
};
struct RightAnswer {
  AnswerKind kind = AnswerKind::kNumber;
  std::string text;
};

enum class Extraction {
  kStrict,    // what was asked for: "#### 72", "answer is (C)"
  kFlexible,  // a number: the last one; a letter: also "Answer: C", else the last one that stands
              // alone
};

/// nullopt if there is none. Text from "Question:" on is ignored: the public graders stop there.
/// `answer` is UTF-8.
std::optional<std::string> extract_answer(AnswerKind kind, Extraction extraction,
                                          std::string_view answer);

/// Equal but for "," and "$" and one "." at the end, as the harness compares numbers.
bool is_right(const RightAnswer& right, const std::optional<std::string>& extracted);

/// An answer with nothing extracted is wrong (TIGER-AI-Lab's script draws a letter then).
struct Grade {
  std::optional<std::string> extracted;  // by the flexible rule
  bool is_right = false;
  bool is_strictly_right = false;  // by the strict rule
};
Grade grade(const RightAnswer& right, std::string_view answer);

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
