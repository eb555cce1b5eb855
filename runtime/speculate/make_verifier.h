#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/speculate/verifier.h"

namespace predgen {

struct VerifierConfig {
  std::string name = "greedy";  // one of verifier_names()
  int64_t top_k = 3;            // topk only
};

const std::vector<std::string>& verifier_names();

/// The list of verifiers. UserError for an unknown name lists the known ones.
std::unique_ptr<Verifier> make_verifier(const VerifierConfig& config);

}  // namespace predgen
