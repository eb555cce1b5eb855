#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/sequence_state.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: T new tokens of a sequence, N rows of logits, V vocabulary, E hidden size, G key/value
// heads, S positions, D head size.

/// Keys and values [1,G,S,D] of S tokens in a layer of another model without a window, and in one
/// with a window.
using RowsOfAnother = std::array<std::pair<at::Tensor, at::Tensor>, 2>;

/// One sequence's part of a forward pass. Borrows what it names.
struct SequenceStep {
  SequenceState* state = nullptr;  // earlier tokens; the pass appends the T new ones
  TokenSpan tokens{};              // T >= 1
  int64_t num_logits = 1;          // of the last tokens; in [0, T]
  /// bool [T,T] on the CPU, row i true where new token i sees new token j: itself and its ancestors
  /// in a tree. Its position is the number of those ancestors. All tokens see the cached ones.
  /// Undefined: each token sees all before it.
  at::Tensor tree_TT{};
  int64_t num_masks = 0;    // of the last tokens: mask_tokens(); in [0, T]
  int64_t num_drafted = 0;  // of the last tokens: those that may be taken back; in [0, T)
  /// Of the first tokens: those that earlier versions of the text had, too, and the next one
  /// probably will; in [0, T - num_drafted].
  int64_t num_settled = 0;
  /// [T,E], of a model that continues another one's hidden states (MtpInput): that of the token
  /// before each. Undefined: zeros.
  at::Tensor given_TE{};
  /// Of a model with KvLayout::read_layers: their rows of all tokens before the one new one, whose
  /// position follows theirs. Null: zeros of one token.
  const RowsOfAnother* read = nullptr;
  /// Gets what the last norm makes of each new token, [T,E], if the model gives_hidden(); of one
  /// that guesses for another model (AssistantSpec), what stands for that one's. Null: not asked
  /// for.
  at::Tensor* hidden_TE = nullptr;
};

/// A causal language model as the runtime sees it: weights only. All state of a conversation is in
/// SequenceState, so several sequences may share a model, but calls must not overlap.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual int64_t vocab_size() const = 0;
  /// Positions that the model supports; a longer prompt is a user error.
  virtual int64_t max_positions() const = 0;
  /// What a pool for its caches must hold.
  virtual KvLayout kv_layout() const = 0;
  /// Tokens that, placed after any other token, predict later ones: the first predicts the token
  /// after the next one, the second the one after that. Empty: the model has none.
  virtual TokenSpan mask_tokens() const = 0;
  /// Whether somebody wants its hidden states (SequenceStep::hidden_TE) to draft with.
  virtual bool gives_hidden() const = 0;

  /// Runs the new tokens of all sequences in one pass and commits them to their caches, which must
  /// all be different. No gradients. Returns float32 logits [N,V] on the model's device, those of
  /// the first sequence first. If it throws, every cache is unchanged.
  virtual at::Tensor forward(std::span<const SequenceStep> steps) const = 0;
  at::Tensor forward(const SequenceStep& step) const { return forward(std::span(&step, 1)); }
};

/// Error for steps that LanguageModel::forward() does not accept.
void check_steps(std::span<const SequenceStep> steps);

/// After how many of a step's new tokens layers that keep a state give it to
/// SequenceState::commit(): those that are settled, before and after the last token that is no
/// draft, and at the end of a draft that is no tree, of which the latter two are always there; and
/// between settled tokens and the last, every kSnapshotDistance positions. Ascending, above 0; as
/// many as KvLayout says.
std::vector<int64_t> snapshot_points(const SequenceStep& step);

/// For each new token, which one before it in its path is the last: an index, or -1 for the cached
/// ones. Of a tree that tree_depths() has checked.
std::vector<int64_t> tree_parents(const SequenceStep& step);

/// Position of each new token among the new ones, from 0, as `tree_TT` (or its absence) says.
/// Error unless every token sees itself and none after it.
std::vector<int64_t> tree_depths(const SequenceStep& step);

/// The most likely token of each row of logits [N,V], the first of equals: int64 [N] on their
/// device. On a CPU it avoids LibTorch's argmax, which wakes threads that then look for more work
/// during the next pass.
at::Tensor most_likely(const at::Tensor& logits_NV);

/// What `read` returns: values of a pass, copied to the host. Only there does a GPU tell that a
/// kernel of the pass failed: an Error that says so.
template <class Read>
auto read_pass(const Read& read) {
  try {
    return read();
  } catch (const c10::AcceleratorError& error) {
    const std::string all = error.what_without_backtrace();
    throw Error("a pass failed on the GPU, which cannot go on: {}", all.substr(0, all.find('\n')));
  }
}

}  // namespace predgen
