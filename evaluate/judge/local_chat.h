#pragma once

#include <stop_token>

#include "evaluate/judge/http_post.h"
#include "model/checkpoint/load_model.h"

namespace predgen::evaluate {

/// A model of this machine that takes the requests of an OpenAI-compatible endpoint ("messages",
/// "max_tokens") and replies as one does: greedily, with 400 for what it cannot handle. Loads the
/// model; Interrupted if stopped. For one thread, which holds a c10::InferenceMode.
HttpPost load_local_chat(const Checkpoint& checkpoint, const LoadOptions& load,
                         const std::stop_token& stop);

}  // namespace predgen::evaluate
