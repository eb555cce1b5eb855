#pragma once

#include <string>

#include "core/json.h"

namespace predgen::evaluate {

/// Of a report's configuration: turns.kind and the name of turns.file, "" where it cannot be read.
struct RunSet {
  std::string kind, file;
};
RunSet run_set(const Json& report);

/// What the paper calls the set, in small letters: lmsys, mt_bench, gsm8k, mmlu_pro; "" for others.
std::string paper_set_of(const Json& report);

}  // namespace predgen::evaluate
