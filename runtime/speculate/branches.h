#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/generate/generator.h"

namespace predgen {

/// Is told the tokens of one answer in turn, each once: whether that is whole.
using IsWhole = std::function<bool(TokenSpan new_tokens)>;
/// One for another answer.
using FollowAnswer = std::function<IsWhole()>;

/// Other answers to one prompt: where an answer was least certain (the difference of its logit and
/// the best other one's), that other token is taken and continued as the answer would be. All grow
/// together, a token each a pass, after one pass over the answer that looks for these places.
class Branches {
 public:
  explicit Branches(int64_t max_branches) : max_branches_(max_branches) {}

  /// Makes them, or goes on where an earlier call was stopped; nothing if they are all done.
  /// `answered`: prompt and answer (from config.answer_begin on), of which nothing changes. A
  /// branch is done when it is whole, with a stop token, or at `config.max_new_tokens`; all wait
  /// when config.should_stop says so. Returns the number of new tokens.
  int64_t grow(Engine& engine, const Sequence& answered, const GenerationConfig& config,
               const FollowAnswer& follow);
  /// Passes that they took so far.
  int64_t num_forward_passes() const { return num_forward_passes_; }
  /// The most promising one first; each is an answer from its first token on.
  const std::vector<TokenIds>& answers() const { return answers_; }

  /// The prompt is another one.
  void clear();

 private:
  int64_t max_branches_;
  std::vector<TokenIds> answers_;
  bool done_ = false;
  int64_t num_forward_passes_ = 0;
};

}  // namespace predgen
