#include "evaluate/training_overlap.h"

#include <algorithm>

#include "core/error.h"
#include "data/build_config.h"

namespace predgen::evaluate {

std::vector<data::PromptSet::Overlap> find_training_overlap(const TurnSet& turns,
                                                            const std::vector<std::string>& files) {
  if (files.empty()) return {};
  data::PromptSet trained(/*min_words=*/1);
  for (const std::filesystem::path& file : data::expand_globs(files)) trained.add_file(file);
  std::vector<data::PromptSet::Overlap> overlap;
  for (const EvalTurn& turn : turns.turns) {
    overlap.push_back(trained.overlap(turn.question.empty() ? turn.prompt_text : turn.question));
  }
  return overlap;
}

Json count_training_overlap(const std::vector<data::PromptSet::Overlap>& overlap) {
  Json counts;
  if (overlap.empty()) return counts;
  using enum data::PromptSet::Overlap;
  for (const data::PromptSet::Overlap kind : {kExact, kNormalised, kNone}) {
    counts[overlap_name(kind)] = std::count(overlap.begin(), overlap.end(), kind);
  }
  return counts;
}

std::string overlap_name(data::PromptSet::Overlap overlap) {
  switch (overlap) {
    case data::PromptSet::Overlap::kExact:
      return "exact";
    case data::PromptSet::Overlap::kNormalised:
      return "normalised";
    case data::PromptSet::Overlap::kNear:
      return "near";
    case data::PromptSet::Overlap::kNone:
      return "none";
  }
  throw Error("unknown overlap {}", static_cast<int>(overlap));
}

}  // namespace predgen::evaluate
