#include "evaluate/quality.h"

#include <algorithm>
#include <map>

#include "core/edit_distance.h"
#include "core/error.h"
#include "evaluate/eval_turn.h"
#include "evaluate/repeated_values.h"
#include "evaluate/statistics.h"
#include "evaluate/tool_turns.h"
#include "text/words.h"

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

namespace {

struct Count {
  int64_t right = 0, strictly_right = 0, n = 0;
};

Json describe(int64_t count, int64_t n) {
  const Share share = share_of(count, n);
  return {
      {"share", share.value}, {"low", share.low}, {"high", share.high}, {"count", count}, {"n", n}};
}

Json describe(const Count& count, bool is_strict) {
  Json json = describe(count.right, count.n);
  if (is_strict) json["strict"] = describe(count.strictly_right, count.n);
  return json;
}

std::string text_of(const Json& row) { return row.at("text"); }

}  // namespace

Json describe_accuracy(const Rows& rows, const TurnSet& turns) {
  Count all;
  bool is_strict = true;  // there is a stricter rule
  std::map<std::string, Count> by_category;
  for (const Json* row : rows) {
    const EvalTurn& turn = turns.turns.at(row->at("turn"));
    if (!turn.right_answer && !turn.right_call) continue;
    Grade graded;
    if (turn.right_answer) {
      graded = grade(*turn.right_answer, text_of(*row));
    } else {
      graded.is_right = row->at("correct");
      is_strict = false;
    }
    for (Count* count : {&all, &by_category[turn.category]}) {
      count->right += graded.is_right;
      count->strictly_right += graded.is_strictly_right;
      ++count->n;
    }
  }
  if (all.n == 0) return nullptr;
  Json json = describe(all, is_strict);
  by_category.erase("");
  for (const auto& [category, count] : by_category) {
    json["by_category"][category] = describe(count, is_strict);
  }
  return json;
}

Json describe_task_answers(const Rows& rows, const TurnSet& turns) {
  int64_t n = 0, same_act = 0, values = 0, known = 0;
  for (const Json* row : rows) {
    const EvalTurn& turn = turns.turns.at(row->at("turn"));
    if (turn.reference.empty()) continue;
    const TaskAnswer answer = compare_task_answer(turn, text_of(*row));
    ++n;
    same_act += answer.same_act;
    values += answer.num_values;
    known += answer.num_known_values;
  }
  if (n == 0) return nullptr;
  return {{"same_act", describe(same_act, n)},
          {"known_values",
           values > 0 ? Json(static_cast<double>(known) / static_cast<double>(values)) : Json()}};
}

Json describe_changed_texts(const Rows& baseline, const Rows& rows) {
  if (rows.empty()) return nullptr;
  int64_t changed = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    changed += text_of(*rows[i]) != text_of(*baseline[i]);
  }
  return describe(changed, std::ssize(rows));
}

void add_quality(const EvalTurn& turn, Json& row) {
  if (turn.right_answer) {
    const Grade graded = grade(*turn.right_answer, text_of(row));
    row["category"] = turn.category;
    row["right_answer"] = turn.right_answer->text;
    row["extracted"] = graded.extracted ? Json(*graded.extracted) : Json();
    row["correct"] = graded.is_right;
    row["correct_strict"] = graded.is_strictly_right;
  } else if (turn.right_call) {
    row["category"] = turn.category;
    row["right_answer"] = call_text(*turn.right_call);
    row["extracted"] = row.at("calls");
    row["correct"] = row.at("right_call");
  } else {
    const bool has_reference = !turn.reference.empty();
    const TaskAnswer answer =
        has_reference ? compare_task_answer(turn, text_of(row)) : TaskAnswer{};
    row["same_act"] = has_reference ? Json(answer.same_act) : Json();
    row["values_said"] = has_reference ? Json(answer.num_values) : Json();
    row["values_known"] = has_reference ? Json(answer.num_known_values) : Json();
  }
}

}  // namespace predgen::evaluate
