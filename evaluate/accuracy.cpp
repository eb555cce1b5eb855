#include "evaluate/accuracy.h"

#include <map>

#include "evaluate/statistics.h"

namespace predgen {
namespace {

struct Count {
  int64_t right = 0, strictly_right = 0, n = 0;
};

Json describe(int64_t count, int64_t n) {
  const Share share = share_of(count, n);
  return {{"share", share.value},
          {"low", share.low},
          {"high", share.high},
          {"count", count},
          {"n", n}};
}

Json describe(const Count& count) {
  Json json = describe(count.right, count.n);
  json["strict"] = describe(count.strictly_right, count.n);
  return json;
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

void add_grade(const Grade& grade, const EvalTurn& turn, Json& json) {
  json["category"] = turn.category;
  json["right_answer"] = turn.right_answer.value().text;
  json["extracted"] = grade.extracted ? Json(*grade.extracted) : Json();
  json["correct"] = grade.is_right;
  json["correct_strict"] = grade.is_strictly_right;
}

}  // namespace predgen
