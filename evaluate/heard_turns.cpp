#include "evaluate/heard_turns.h"

#include "core/edit_distance.h"
#include "evaluate/statistics.h"
#include "text/bare_words.h"

namespace predgen::evaluate {

int64_t count_word_errors(std::string_view heard, std::string_view said) {
  return edit_distance(list_bare_words(heard), list_bare_words(said));
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
