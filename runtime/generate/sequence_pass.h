#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/token_tree.h"

namespace predgen {

/// Runs the pending tokens of `sequence` and then `draft`, counts the passes, and returns the
/// logits [G+1,V] after the last pending token and after each of the G drafted ones. nullopt if the
/// configuration's should_stop ended it, as `result` then says. `tree_GG`, `num_masks`: as
/// EngineRequest's; masks do not count as checked.
std::optional<at::Tensor> run_draft(Engine& engine, Sequence& sequence, TokenSpan draft,
                                    const GenerationConfig& config, GenerationResult& result,
                                    const at::Tensor& tree_GG = {}, int64_t num_masks = 0);

/// Where the answer at the end of `tokens` has come to; null without a constraint.
AnswerConstraint::PlacePtr place_of(TokenSpan tokens, const GenerationConfig& config);

/// The beginning of `draft` that may come at `place`: all of it without a constraint.
TokenSpan allowed_start(TokenSpan draft, const GenerationConfig& config,
                        const AnswerConstraint::PlacePtr& place);

/// Appends `tokens` up to and including the first stop token, within the limit, counts them and
/// calls back. True: continue; false: `result` says why not. DeadEnd, after all that, if kNoToken
/// comes next.
bool commit_tokens(Sequence& sequence, TokenSpan tokens, const GenerationConfig& config,
                   const TokenCallback& on_tokens, GenerationResult& result);

/// Whether another pass can run. If not, `result` says why.
bool has_room(const Sequence& sequence, const GenerationConfig& config, GenerationResult& result);

/// Forced tokens in one pass. What a form has between two answers is shorter.
constexpr int64_t kMostForced = 64;

/// Adds to `tree`, at `place` where it begins and at each of its ends, the tokens that the
/// constraint forces there: at most `most` and kMostForced in all, and no path of the tree gets
/// longer than `deepest`. Returns the tokens, -1 the one before the tree, that have got their next
/// one so. A null `place` forces nothing.
std::vector<int64_t> add_forced(TokenTree& tree, const AnswerConstraint::PlacePtr& place,
                                int64_t most, int64_t deepest);

}  // namespace predgen
