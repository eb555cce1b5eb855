#include "evaluate/quality.h"

#include <map>

#include "evaluate/grading.h"
#include "evaluate/statistics.h"
#include "evaluate/task_answer.h"

namespace predgen {
namespace {

struct Count {
  int64_t right = 0, strictly_right = 0, n = 0;
};

Json describe(int64_t count, int64_t n) {
  const Share share = share_of(count, n);
  return {
      {"share", share.value}, {"low", share.low}, {"high", share.high}, {"count", count}, {"n", n}};
}

Json describe(const Count& count) {
  Json json = describe(count.right, count.n);
  json["strict"] = describe(count.strictly_right, count.n);
  return json;
}

/// A row's fields of what the judge said.
void add_judged(const JudgedAnswer& judged, Json& json) {
  static constexpr const char* kNames[] = {"loss", "tie", "win"};
  json["judge_grade"] = judged.grade ? Json(*judged.grade) : Json();
  json["judge_against_baseline"] =
      judged.outcome ? Json(kNames[static_cast<size_t>(*judged.outcome)]) : Json();
  json["judge_grade_problem"] = judged.grade_problem;
  json["judge_against_baseline_problem"] = judged.outcome_problem;
}

}  // namespace

Json describe_accuracy(const std::vector<const EvalRow*>& rows, const TurnSet& turns) {
  Count all;
  std::map<std::string, Count> by_category;
  for (const EvalRow* row : rows) {
    const EvalTurn& turn = turns.turns.at(row->turn_index);
    if (!turn.right_answer) continue;
    const Grade graded = grade(*turn.right_answer, row->result.text);
    for (Count* count : {&all, &by_category[turn.category]}) {
      count->right += graded.is_right;
      count->strictly_right += graded.is_strictly_right;
      ++count->n;
    }
  }
  if (all.n == 0) return nullptr;
  Json json = describe(all);
  by_category.erase("");
  for (const auto& [category, count] : by_category) json["by_category"][category] = describe(count);
  return json;
}

Json describe_task_answers(const std::vector<const EvalRow*>& rows, const TurnSet& turns) {
  int64_t n = 0, same_act = 0, values = 0, known = 0;
  for (const EvalRow* row : rows) {
    const EvalTurn& turn = turns.turns.at(row->turn_index);
    if (turn.reference.empty()) continue;
    const TaskAnswer answer = compare_task_answer(turn, row->result.text);
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

Json describe_changed_texts(const std::vector<const EvalRow*>& baseline,
                            const std::vector<const EvalRow*>& rows) {
  if (rows.empty()) return nullptr;
  int64_t changed = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    changed += rows[i]->result.text != baseline[i]->result.text;
  }
  return describe(changed, std::ssize(rows));
}

Json describe_judged(const std::vector<const EvalRow*>& rows) {
  double grades = 0;
  int64_t num_grades = 0, no_grade = 0, no_outcome = 0, n = 0;
  std::map<PairOutcome, int64_t> outcomes;
  for (const EvalRow* row : rows) {
    if (!row->judged) continue;
    const JudgedAnswer& judged = *row->judged;
    ++n;
    num_grades += judged.grade.has_value();
    grades += judged.grade.value_or(0);
    no_grade += !judged.grade_problem.empty();
    no_outcome += !judged.outcome_problem.empty();
    if (judged.outcome) ++outcomes[*judged.outcome];
  }
  if (n == 0) return nullptr;
  Json json{{"grade", nullptr}, {"pairs", nullptr}};
  if (num_grades + no_grade > 0) {
    json["grade"] = {
        {"mean", num_grades > 0 ? Json(grades / static_cast<double>(num_grades)) : Json()},
        {"n", num_grades},
        {"missing", no_grade}};
  }
  if (!outcomes.empty() || no_outcome > 0) {
    json["pairs"] = {{"wins", outcomes[PairOutcome::kWin]},
                     {"ties", outcomes[PairOutcome::kTie]},
                     {"losses", outcomes[PairOutcome::kLoss]},
                     {"missing", no_outcome}};
  }
  return json;
}

void add_quality(const EvalRow& row, const EvalTurn& turn, Json& json) {
  if (turn.right_answer) {
    const Grade graded = grade(*turn.right_answer, row.result.text);
    json["category"] = turn.category;
    json["right_answer"] = turn.right_answer->text;
    json["extracted"] = graded.extracted ? Json(*graded.extracted) : Json();
    json["correct"] = graded.is_right;
    json["correct_strict"] = graded.is_strictly_right;
  } else {
    const bool has_reference = !turn.reference.empty();
    const TaskAnswer answer =
        has_reference ? compare_task_answer(turn, row.result.text) : TaskAnswer{};
    json["same_act"] = has_reference ? Json(answer.same_act) : Json();
    json["values_said"] = has_reference ? Json(answer.num_values) : Json();
    json["values_known"] = has_reference ? Json(answer.num_known_values) : Json();
  }
  if (row.judged) add_judged(*row.judged, json);
}

}  // namespace predgen
