#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/speculate/verifier.h"
#include "text/sentence/sentence_splitter.h"
#include "text/tokenizer.h"

namespace predgen {

struct VerifierConfig {
  std::string name = "greedy";   // one of verifier_names()
  int64_t top_k = 3;             // topk only
  int64_t judged_sentences = 1;  // reflection only; drafts are as long as that
};

const std::vector<std::string>& verifier_names();

/// The list of verifiers. UserError for an unknown name lists the known ones. Borrows the
/// tokenizer.
std::unique_ptr<Verifier> make_verifier(const VerifierConfig& config, const Tokenizer& tokenizer,
                                        SplitMode split_mode);

}  // namespace predgen
