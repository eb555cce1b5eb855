#include "evaluate/heard_turns.h"

#include <algorithm>
#include <numeric>

#include "evaluate/statistics.h"
#include "text/bare_words.h"

namespace predgen::evaluate {

int64_t count_word_errors(std::string_view heard, std::string_view said) {
  const std::vector<std::string> from = list_bare_words(heard), to = list_bare_words(said);
  std::vector<int64_t> errors(to.size() + 1);  // that make the words so far the first i of `to`
  std::iota(errors.begin(), errors.end(), 0);
  for (const std::string& word : from) {
    int64_t before = errors[0]++;
    for (size_t i = 1; i < errors.size(); ++i) {
      const int64_t replaced = before + (word == to[i - 1] ? 0 : 1);
      before = errors[i];
      errors[i] = std::min({errors[i] + 1, errors[i - 1] + 1, replaced});
    }
  }
  return errors.back();
}

Json describe_heard(const TurnSet& set) {
  int64_t num_turns = 0, num_cut_off = 0, num_words = 0, num_errors = 0;
  std::vector<std::optional<double>> waits;
  for (const EvalTurn& turn : set.turns) {
    if (!turn.voice) continue;
    ++num_turns;
    if (turn.voice->is_cut_off) {
      ++num_cut_off;
    } else {
      num_words += static_cast<int64_t>(list_bare_words(turn.voice->said).size());
      num_errors += count_word_errors(turn.prompt_text, turn.voice->said);
      waits.emplace_back((turn.recorded.back().time - turn.voice->ended).count());
    }
  }
  if (num_turns == 0) return nullptr;
  return {{"turns", num_turns},
          {"cut_off", num_cut_off},
          {"words", num_words},
          {"word_errors", num_errors},
          {"wait", to_json(summarize(waits))}};
}

}  // namespace predgen::evaluate
