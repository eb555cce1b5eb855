#pragma once

#include <ATen/ATen.h>

#include "model/language_model.h"
#include "runtime/generate/generator.h"

namespace predgen {

/// Runs the pending tokens of `sequence` and then `guess` in one pass; the cache grows by both.
/// Returns the logits [G+1,V] behind the last pending token and behind each of the G guesses.
at::Tensor run_pending(const LanguageModel& model, Sequence& sequence, TokenSpan guess);

bool contains(TokenSpan tokens, TokenId token);

/// Appends `tokens` up to and with the first stop token and up to what the limit leaves, restores
/// the sequence's invariant, counts, and calls back. True: go on; false: `result` says why not.
bool commit_tokens(Sequence& sequence, TokenSpan tokens, const GenerationConfig& config,
                   const TokenCallback& on_tokens, GenerationResult& result);

/// Can another pass run? If not, `result` says why.
bool has_room(const Sequence& sequence, const GenerationConfig& config, GenerationResult& result);

}  // namespace predgen
