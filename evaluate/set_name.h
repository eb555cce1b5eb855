#pragma once

#include <string>

#include "core/json.h"

namespace predgen::evaluate {

/// The set that a configuration (YAML) names, for results.json: "kind" and "file", "" where they
/// cannot be read; "paper", what the paper calls it in small letters (lmsys, mt_bench, gsm8k,
/// mmlu_pro), "" for others; "name", for people.
Json describe_set(const std::string& config);

}  // namespace predgen::evaluate
