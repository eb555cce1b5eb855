#include "evaluate/turn_rounds.h"

#include <algorithm>
#include <string>

#include "text/bare_words.h"

namespace predgen::evaluate {

int64_t round_of(const std::vector<EvalTurn>& turns, size_t index) {
  int64_t round = 1;
  while (turns.at(index).continues && index > 0) {
    --index;
    ++round;
  }
  if (turns[index].right_answer) return round;
  return round + std::ranges::count(turns[index].history, "user", &Message::role);
}

std::optional<double> revised_share(const std::vector<Transcript>& recorded) {
  if (recorded.empty()) return std::nullopt;
  std::vector<std::string> heard;
  double given_out = 0, taken_back = 0;
  for (const Transcript& transcript : recorded) {
    std::vector<std::string> words = list_words(transcript.text);
    const auto first_change = std::ranges::mismatch(heard, words);
    taken_back += static_cast<double>(heard.end() - first_change.in1);
    given_out += static_cast<double>(words.end() - first_change.in2);
    heard = std::move(words);
  }
  return given_out > 0 ? taken_back / given_out : 0;
}

}  // namespace predgen::evaluate
