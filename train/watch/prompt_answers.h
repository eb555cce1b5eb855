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
  int64_t window = 1;  // tokens that a pass may find; 1: greedy decoding
};

struct PromptAnswer {
  TokenIds tokens;
  int64_t num_passes = 0;  // that it had a part in
};

/// The answers of this rank's prompts, as many of them to a pass as kWatchedPositions allow, and
/// each prompt in one pass. A collective: all ranks run as many passes, so that a pass may fetch
/// layers of which each rank has a part. Whether there is another one is agreed before it; nothing
/// else depends on what other ranks answer. `on_answered` gets the number of answers so far.
std::vector<PromptAnswer> answer_prompts(const LanguageModel& model,
                                         std::span<const PromptToAnswer> prompts,
                                         const GenerationConfig& limits, Communicator& communicator,
                                         const std::function<void(int64_t)>& on_answered);

/// In the caches of all answers under way; a single one may need more. 0.5 GiB for Qwen2.5-7B.
constexpr int64_t kWatchedPositions = 8192;

}  // namespace predgen::train
