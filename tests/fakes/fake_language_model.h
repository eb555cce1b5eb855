#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/language_model.h"
#include "text/token_ids.h"

namespace predgen {

/// A model without weights for tests of decoding. Its cache holds the token ids as keys and their
/// positions as values, and every prediction reads the history back from there: a cache that is
/// off by one, stale or out of order gives other tokens or throws. So does a state.
class FakeLanguageModel : public LanguageModel {
 public:
  struct Options {
    int64_t vocab_size = 31;
    int64_t max_positions = 4096;
    /// Predictions follow from the last `memory` tokens, ..
    int64_t memory = 2;
    /// .. and in about one of `surprise` contexts from the whole history; 0: never, 1: always.
    int64_t surprise = 4;
    /// Overrides the hash: this is the most likely next token; the others stay hashed below it.
    std::function<TokenId(TokenSpan history)> next{};
    /// Must be vocab_size, vocab_size + 1, .., and told as masks where they come in a pass.
    TokenIds mask_tokens{};
    /// Also keeps a state, a hash of all tokens that it has read, without which nothing is
    /// predicted.
    bool keeps_state = false;
    /// The hidden state of a token is a hash of all tokens up to it. A model that reads those of
    /// another one checks that they belong to its text.
    bool gives_hidden = false, reads_hidden = false;
    /// What mask `number`, from 1, behind `history` expects.
    std::function<TokenId(TokenSpan history, int64_t number)> guess{};
  };

  explicit FakeLanguageModel(Options options) : options_(std::move(options)) {}

  int64_t vocab_size() const override { return options_.vocab_size; }
  int64_t max_positions() const override { return options_.max_positions; }
  TokenSpan mask_tokens() const override { return options_.mask_tokens; }
  bool gives_hidden() const override { return options_.gives_hidden || options_.reads_hidden; }
  KvLayout kv_layout() const override {
    KvLayout layout{.num_layers = options_.reads_hidden ? 2 : 1,
                    .num_kv_heads = 1,
                    .head_dim = 1,
                    .options = at::kLong};
    if (options_.keeps_state) {
      layout.num_states = 1;
      layout.bytes_per_snapshot = sizeof(int64_t);
    }
    return layout;
  }

  using LanguageModel::forward;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    ++num_passes;
    std::vector<at::Tensor> logits;
    int64_t num_tokens = 0;
    for (const SequenceStep& step : steps) {
      logits.push_back(run(step));
      if (step.hidden_TE != nullptr) {
        *step.hidden_TE = options_.reads_hidden ? read_hidden(step) : hidden_of(step);
      }
      num_tokens += static_cast<int64_t>(step.tokens.size());
    }
    for (const SequenceStep& step : steps) {
      const std::vector<uint64_t> states = states_of(step);
      std::vector<NewStates> found;
      if (options_.keeps_state) {
        for (const int64_t point : snapshot_points(step)) {
          const auto hash = static_cast<int64_t>(states[static_cast<size_t>(point) - 1]);
          found.push_back({point, {{at::scalar_tensor(hash, at::kLong)}}});
        }
      }
      step.state->commit(static_cast<int64_t>(step.tokens.size()), std::move(found));
    }
    pass_sizes.push_back(num_tokens);
    return at::cat(logits);
  }

  mutable int64_t num_passes = 0;
  mutable std::vector<int64_t> pass_sizes;  // tokens run in each pass, all sequences together

 private:
  static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    return hash ^ (hash >> 29);
  }

  static uint64_t hash_of(TokenSpan tokens) {
    uint64_t hash = 17;
    for (const TokenId token : tokens) hash = mix(hash, static_cast<uint64_t>(token));
    return hash;
  }
  /// The state after each new token, each read after the one before it in its path.
  std::vector<uint64_t> states_of(const SequenceStep& step) const {
    if (!options_.keeps_state) return {};
    const LayerState& before = step.state->state(0);
    const uint64_t start =
        before.empty() ? hash_of({}) : static_cast<uint64_t>(before.front().item<int64_t>());
    std::vector<uint64_t> states;
    const std::vector<int64_t> parents = tree_parents(step);
    for (size_t i = 0; i < parents.size(); ++i) {
      const uint64_t last = parents[i] < 0 ? start : states[static_cast<size_t>(parents[i])];
      states.push_back(mix(last, static_cast<uint64_t>(step.tokens[i])));
    }
    return states;
  }

  static int64_t mixed(int64_t hash, TokenId token) {
    return static_cast<int64_t>(mix(static_cast<uint64_t>(hash), static_cast<uint64_t>(token)));
  }
  /// After run().
  static TokenSpan tokens_of(const SequenceStep& step) {
    const at::Tensor tokens = step.state->appended(0).first;
    return {tokens.const_data_ptr<int64_t>(), static_cast<size_t>(tokens.size(2))};
  }
  /// Hidden states [T,1] after run().
  static at::Tensor hidden_of(const SequenceStep& step) {
    const std::vector<int64_t> parents = tree_parents(step);
    at::Tensor hidden_T1 = at::empty({std::ssize(parents), 1}, at::kLong);
    auto* hidden = hidden_T1.mutable_data_ptr<int64_t>();
    const auto past = static_cast<size_t>(step.state->length());
    const auto before = static_cast<int64_t>(hash_of(tokens_of(step).first(past)));
    for (size_t i = 0; i < parents.size(); ++i) {
      hidden[i] = mixed(parents[i] < 0 ? before : hidden[parents[i]], step.tokens[i]);
    }
    return hidden_T1;
  }
  /// The same of a model that reads those of another one, each of which must be what the one before
  /// it makes of the token there.
  static at::Tensor read_hidden(const SequenceStep& step) {
    const auto T = static_cast<int64_t>(step.tokens.size());
    const at::Tensor given_TE =
        step.given_TE.defined() ? step.given_TE : at::zeros({T, 1}, at::kLong);
    PREDGEN_CHECK(given_TE.size(0) == T, "{} hidden states of {} tokens", given_TE.size(0), T);
    const at::Tensor given_11T1 = given_TE.view({1, 1, T, 1});
    const at::Tensor all_S = step.state->append(1, given_11T1, given_11T1).first.reshape({-1});
    const auto* given = all_S.const_data_ptr<int64_t>();
    const TokenSpan tokens = tokens_of(step);
    const int64_t past = step.state->length();
    at::Tensor hidden_T1 = at::empty({T, 1}, at::kLong);
    for (int64_t i = past; i < past + T; ++i) {
      const bool follows =
          i == 0 || given[i] == mixed(given[i - 1], tokens[static_cast<size_t>(i - 1)]);
      PREDGEN_CHECK(follows || !step.given_TE.defined(), "a hidden state of another text");
      hidden_T1[i - past][0] = mixed(given[i], tokens[static_cast<size_t>(i)]);
    }
    return hidden_T1;
  }

  at::Tensor run(const SequenceStep& step) const {
    const auto num_tokens = static_cast<int64_t>(step.tokens.size());
    const int64_t num_logits = step.num_logits, past = step.state->length();
    PREDGEN_CHECK(num_tokens >= 1 && num_logits <= num_tokens, "{} logits of {} tokens", num_logits,
                  num_tokens);
    PREDGEN_CHECK(past + num_tokens <= options_.max_positions, "beyond max_positions");
    at::Tensor tokens_T = at::empty({num_tokens}, at::kLong),
               positions_T = at::empty_like(tokens_T);
    std::ranges::copy(step.tokens, tokens_T.data_ptr<int64_t>());
    const std::vector<int64_t> depths = tree_depths(step);
    for (int64_t t = 0; t < num_tokens; ++t) positions_T[t] = past + depths[static_cast<size_t>(t)];
    const auto as_head = [&](const at::Tensor& ids_T) { return ids_T.view({1, 1, num_tokens, 1}); };
    const auto [keys, values] = step.state->append(0, as_head(tokens_T), as_head(positions_T));
    const at::Tensor tokens_S = keys.reshape({-1}), positions_S = values.reshape({-1});
    const std::vector<uint64_t> states = states_of(step);
    at::Tensor logits_NV = at::empty({num_logits, options_.vocab_size}, at::kFloat);
    for (int64_t n = 0; n < num_logits; ++n) {
      const int64_t t = num_tokens - num_logits + n;
      TokenIds history;
      int64_t num_masks = 0;
      for (int64_t s = 0; s <= past + t; ++s) {
        if (s >= past && step.tree_TT.defined() && !step.tree_TT[t][s - past].item<bool>())
          continue;
        PREDGEN_CHECK(positions_S.data_ptr<int64_t>()[s] == static_cast<int64_t>(history.size()),
                      "position {} where {} was due", positions_S.data_ptr<int64_t>()[s],
                      history.size());
        history.push_back(tokens_S.data_ptr<int64_t>()[s]);
        if (options_.mask_tokens.empty()) continue;
        const bool is_mask = s >= past + num_tokens - step.num_masks;
        PREDGEN_CHECK(is_mask ? history.back() == options_.vocab_size + num_masks
                              : history.back() < options_.vocab_size && num_masks == 0,
                      "token {} behind {} masks", history.back(), num_masks);
        num_masks += is_mask;
      }
      PREDGEN_CHECK(!options_.keeps_state || states[static_cast<size_t>(t)] == hash_of(history),
                    "a state of other tokens");
      history.resize(history.size() - static_cast<size_t>(num_masks));
      predict(history, logits_NV[n].data_ptr<float>());
      if (num_masks > 0) logits_NV[n][options_.guess(history, num_masks)] = 3;
    }
    return logits_NV;
  }

  void predict(TokenSpan history, float* logits_V) const {
    uint64_t hash = 1469598103934665603ull;
    const size_t memory = std::min<size_t>(history.size(), static_cast<size_t>(options_.memory));
    for (const TokenId token : history.last(memory)) hash = mix(hash, static_cast<uint64_t>(token));
    if (options_.surprise > 0 && (hash >> 17) % static_cast<uint64_t>(options_.surprise) == 0) {
      for (const TokenId token : history) hash = mix(hash, static_cast<uint64_t>(token) + 77);
    }
    for (int64_t v = 0; v < options_.vocab_size; ++v) {
      const uint64_t roll = mix(mix(hash, static_cast<uint64_t>(v) + 1), 0xABCDull);
      logits_V[v] = static_cast<float>(roll >> 40) / static_cast<float>(1 << 24);  // [0, 1)
    }
    if (options_.next) logits_V[options_.next(history)] = 2.0f;
  }

  Options options_;
};

}  // namespace predgen
