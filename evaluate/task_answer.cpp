#include "evaluate/task_answer.h"

#include <algorithm>

#include "core/error.h"
#include "evaluate/repeated_values.h"

namespace predgen::evaluate {

Act act_of(std::string_view answer) {
  if (!find_values(answer).empty()) return Act::kTells;
  return answer.find('?') != std::string_view::npos ? Act::kAsks : Act::kNeither;
}

TaskAnswer compare_task_answer(const EvalTurn& turn, std::string_view answer) {
  PREDGEN_CHECK(!turn.reference.empty(), "turn {} has no reference", turn.id);
  std::string known = turn.prompt_text + '\n' + turn.reference;
  for (const Message& message : turn.history) known += '\n' + message.content;
  const std::vector<std::string> words = lower_words(known);
  TaskAnswer compared;
  for (const std::string& value : find_values(answer)) {
    ++compared.num_values;
    compared.num_known_values += std::ranges::find(words, value) != words.end();
  }
  compared.same_act = act_of(answer) == act_of(turn.reference);
  return compared;
}

}  // namespace predgen::evaluate
