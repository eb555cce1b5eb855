#include "evaluate/training_overlap.h"

#include <algorithm>

#include "core/error.h"
#include "data/build_config.h"

namespace predgen {

std::vector<PromptSet::Overlap> find_training_overlap(const TurnSet& turns,
                                                      const std::vector<std::string>& files) {
  if (files.empty()) return {};
  PromptSet trained(/*min_words=*/1);
  for (const std::filesystem::path& file : expand_globs(files)) trained.add_file(file);
  std::vector<PromptSet::Overlap> overlap;
  for (const EvalTurn& turn : turns.turns) {
    overlap.push_back(trained.overlap(turn.question.empty() ? turn.prompt_text : turn.question));
  }
  return overlap;
}

Json count_training_overlap(const std::vector<PromptSet::Overlap>& overlap) {
  Json counts;
  if (overlap.empty()) return counts;
  using enum PromptSet::Overlap;
  for (const PromptSet::Overlap kind : {kExact, kNormalised, kNone}) {
    counts[overlap_name(kind)] = std::count(overlap.begin(), overlap.end(), kind);
  }
  return counts;
}

std::string overlap_name(PromptSet::Overlap overlap) {
  switch (overlap) {
    case PromptSet::Overlap::kExact:
      return "exact";
    case PromptSet::Overlap::kNormalised:
      return "normalised";
    case PromptSet::Overlap::kNear:
      return "near";
    case PromptSet::Overlap::kNone:
      return "none";
  }
  throw Error("unknown overlap {}", static_cast<int>(overlap));
}

}  // namespace predgen
