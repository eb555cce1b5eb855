#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace predgen::evaluate
