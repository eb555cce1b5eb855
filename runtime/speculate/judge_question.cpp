#include "runtime/speculate/judge_question.h"

#include <fmt/format.h>

#include "core/text.h"

namespace predgen {

std::vector<Message> judge_question(std::string_view words, std::string_view answer) {
  constexpr const char* kQuestion =
      "You are given an incomplete prompt and the model's speculative partial answer. Please judge "
      "whether the partial prompt is consistent with the model's answer.\n"
      "Partial Prompt: {}\nPartial Answer: {}";
  return {{.role = "user", .content = fmt::format(kQuestion, words, trimmed(answer))}};
}

}  // namespace predgen
