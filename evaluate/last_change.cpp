#include "evaluate/last_change.h"

#include <algorithm>

#include "core/edit_distance.h"
#include "hear/transcripts/typed_source.h"
#include "text/bare_words.h"

namespace predgen::evaluate {
namespace {

constexpr double kAnyRate = 600;  // characters a minute: the words arrive in the same order

}  // namespace

std::string change_between(std::string_view before, std::string_view final_text) {
  const std::vector<std::string> heard = list_bare_words(before),
                                 said = list_bare_words(final_text);
  if (heard == said) return "punctuation";
  if (std::ranges::mismatch(heard, said).in1 == heard.end()) {
    return said.size() == heard.size() + 1 ? "word_added" : "clause_added";
  }
  return edit_distance(heard, said) == 1 ? "word_revised" : "question_changed";
}

std::string last_change(const EvalTurn& turn) {
  const std::vector<Transcript> heard =
      turn.recorded.empty() ? type_text(turn.prompt_text, kAnyRate) : turn.recorded;
  const std::string& final_text = heard.back().text;
  const auto other = std::find_if(heard.rbegin(), heard.rend(), [&](const Transcript& transcript) {
    return transcript.text != final_text;
  });
  return other == heard.rend() ? "none" : change_between(other->text, final_text);
}

const std::vector<std::string>& last_changes() {
  static const std::vector<std::string> names{"none",         "punctuation",  "word_added",
                                              "clause_added", "word_revised", "question_changed"};
  return names;
}

}  // namespace predgen::evaluate
