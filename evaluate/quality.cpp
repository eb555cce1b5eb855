#include "evaluate/quality.h"

#include <map>

#include "evaluate/statistics.h"

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
    if (!row->grade) continue;
    for (Count* count : {&all, &by_category[turns.turns.at(row->turn_index).category]}) {
      count->right += row->grade->is_right;
      count->strictly_right += row->grade->is_strictly_right;
      ++count->n;
    }
  }
  if (all.n == 0) return nullptr;
  Json json = describe(all);
  by_category.erase("");
  for (const auto& [category, count] : by_category) json["by_category"][category] = describe(count);
  return json;
}

Json describe_task_answers(const std::vector<const EvalRow*>& rows) {
  int64_t n = 0, same_act = 0, values = 0, known = 0;
  for (const EvalRow* row : rows) {
    if (!row->task) continue;
    ++n;
    same_act += row->task->same_act;
    values += row->task->num_values;
    known += row->task->num_known_values;
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
  if (row.grade) {
    json["category"] = turn.category;
    json["right_answer"] = turn.right_answer.value().text;
    json["extracted"] = row.grade->extracted ? Json(*row.grade->extracted) : Json();
    json["correct"] = row.grade->is_right;
    json["correct_strict"] = row.grade->is_strictly_right;
  }
  if (!turn.right_answer) {  // else all rows of the set have none
    json["same_act"] = row.task ? Json(row.task->same_act) : Json();
    json["values_said"] = row.task ? Json(row.task->num_values) : Json();
    json["values_known"] = row.task ? Json(row.task->num_known_values) : Json();
  }
  if (row.judged) add_judged(*row.judged, json);
}

}  // namespace predgen
