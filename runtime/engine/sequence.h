#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/language_model.h"
#include "model/sequence_state.h"
#include "runtime/engine/hidden_rows.h"
#include "text/token_ids.h"

namespace predgen {

/// Keys and values [1,H,S,D] of each layer.
using KvRows = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// The tokens of one conversation or candidate, and what the model keeps of a strict prefix of
/// them. Tokens that are not cached are pending: the next pass runs them, so prefill, decoding and
/// recovery after a rejection are one operation. Engine::run() also caches a draft after the
/// tokens; the next change drops it or makes it the sequence's own. Invariant, but for a cached
/// draft: num_cached() < size(), or both are 0.
class Sequence {
 public:
  explicit Sequence(std::unique_ptr<SequenceState> state) : state_(std::move(state)) {}

  TokenSpan tokens() const { return tokens_; }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Most tokens that it can ever have in its cache.
  int64_t capacity() const { return state_->capacity(); }
  int64_t num_cached() const { return state_->length(); }
  /// What the model's last norm has made of its first tokens, and of a cached draft, [S,E];
  /// undefined if there are none (LanguageModel::gives_hidden()). A change of the sequence drops
  /// those of tokens that it drops, and of the last one, but not those of tokens that a state has
  /// to run again. Valid until then.
  at::Tensor hidden_SE() const { return hidden_.rows(); }
  /// How many of the first tokens the text had before the last replace(), too.
  int64_t num_settled() const { return num_settled_; }
  /// Tokens that are not cached; Error while a draft is cached.
  TokenSpan pending() const;

  /// Adds tokens; the last one is always pending. If a draft is cached after the old tokens, the
  /// new ones must begin with the part of it to keep: they take over its positions, as far as the
  /// state can return to their end (SequenceState::can_return_to()).
  void append(TokenSpan tokens);
  /// Forgets the tokens from `size` on; the last one left is pending, as are those before it that
  /// the state cannot return to. O(1).
  void truncate(int64_t size);
  /// Replaces all tokens. Returns how many of the new ones stay cached: the common prefix, without
  /// the last token, as far as the state can return into it.
  int64_t replace(TokenSpan tokens);
  /// How many first tokens both have.
  int64_t num_common_with(TokenSpan tokens) const;
  /// What replace() would return.
  int64_t num_kept_by(TokenSpan tokens) const;
  /// Copies of what is cached of the first `length` tokens, contiguous, on the CPU. Error for a
  /// model that keeps states.
  KvRows rows(int64_t length);
  /// Of the first `length` tokens, in these layers; valid until the sequence changes.
  RowsOfAnother rows_for_another(std::span<const int64_t> layers, int64_t length);
  /// Of an empty one: these are its tokens, and `rows` are what is cached of the first of them.
  /// Error if they are of another model; UserError if the pool is exhausted.
  void load(TokenSpan tokens, const KvRows& rows);
  /// Of a draft that was run as a tree, keeps only the path with these indices (ascending) cached,
  /// in this order, if the state knows paths (SequenceState::keep()). The next append() makes it
  /// the sequence's own.
  void keep_path(std::span<const int64_t> path);
  /// A sequence with the same tokens, without a draft; both share their cache until they
  /// diverge.
  Sequence fork() const;

 private:
  friend class Engine;

  /// What is cached of the first `length` tokens in a layer, in parts: keys, and values.
  std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>> parts(int64_t layer, int64_t length);

  std::unique_ptr<SequenceState> state_;
  TokenIds tokens_;
  HiddenRows hidden_;
  int64_t num_settled_ = 0;
};

}  // namespace predgen
