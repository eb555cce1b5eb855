#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "data/held_out.h"
#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

/// For each turn, whether the user's words (EvalTurn::question, else prompt_text) are in the
/// training data, verbatim or as `predgen data build` compares held-out prompts. `files` are what
/// PromptSet::add_file() reads, with * and ? in the last part; without files the result is empty.
std::vector<data::PromptSet::Overlap> find_training_overlap(const TurnSet& turns,
                                                            const std::vector<std::string>& files);

/// {"exact", "normalised", "none"}: numbers of turns; null if `overlap` is empty.
Json count_training_overlap(const std::vector<data::PromptSet::Overlap>& overlap);

/// As the counts name it.
std::string overlap_name(data::PromptSet::Overlap overlap);

}  // namespace predgen::evaluate
