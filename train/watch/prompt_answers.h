#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/language_model.h"
#include "runtime/generate/generator.h"
#include "train/distributed/communicator.h"

namespace predgen::train {

/// A prompt to be answered by Jacobi decoding. Borrows it.
struct PromptToAnswer {
  TokenSpan prompt{};
  int64_t window = 1;  // most tokens found per pass; 1: greedy decoding
};

struct PromptAnswer {
  TokenIds tokens;
  int64_t num_passes = 0;  // passes that it took part in
};

/// Answers this rank's prompts, as many of them per pass as kWatchedPositions allows, prefilling
/// each prompt in one pass. A collective: all ranks run the same number of passes, so that a pass
/// may fetch layers sharded over the ranks. They agree on each pass before it runs; nothing else
/// depends on other ranks' answers. `on_answered` gets the number of answers so far.
std::vector<PromptAnswer> answer_prompts(const LanguageModel& model,
                                         std::span<const PromptToAnswer> prompts,
                                         const GenerationConfig& limits, Communicator& communicator,
                                         const std::function<void(int64_t)>& on_answered);

/// Positions in the KV caches of all answers under way; one may need more. 0.5 GiB for Qwen2.5-7B.
constexpr int64_t kWatchedPositions = 8192;

}  // namespace predgen::train
