#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/generate/generator.h"

namespace predgen {

/// Other answers to the same prompt: where an answer was least certain (the difference of its
/// logit and the best other one's), that other token is taken and continued as the answer would be.
/// All grow together, a token each a pass, after one pass over the answer that looks for these
/// places. `answered`: prompt and answer (from config.answer_begin on), of which nothing changes.
/// `num_branches`: at most so many. A branch ends when it `is_whole`, with a stop token, or at
/// `config.max_new_tokens`; all end when config.should_stop says so. The most promising one comes
/// first; each is an answer from its first token on.
std::vector<TokenIds> grow_branches(Engine& engine, const Sequence& answered, int64_t num_branches,
                                    const GenerationConfig& config,
                                    const std::function<bool(TokenSpan answer)>& is_whole);

}  // namespace predgen
