#include "runtime/generate/sequence_pass.h"

#include <algorithm>

#include "text/token_ids.h"

namespace predgen {

std::optional<at::Tensor> run_draft(Engine& engine, Sequence& sequence, TokenSpan draft,
                                    const GenerationConfig& config, GenerationResult& result,
                                    const at::Tensor& tree_GG, int64_t num_masks) {
  EngineResult pass = engine.run({.sequence = &sequence,
                                  .draft = draft,
                                  .tree_GG = tree_GG,
                                  .num_masks = num_masks,
                                  .priority = config.priority,
                                  .should_stop = config.should_stop});
  result.num_forward_passes += pass.num_forward_passes;
  if (pass.logits) {
    result.num_checked += std::ssize(draft) - num_masks;
  } else {
    result.stop_reason = StopReason::kCancelled;
  }
  return pass.logits;
}

AnswerConstraint::PlacePtr place_of(TokenSpan tokens, const GenerationConfig& config) {
  if (!config.constraint) return nullptr;
  return config.constraint->after(tokens.subspan(static_cast<size_t>(config.answer_begin)));
}

TokenSpan allowed_start(TokenSpan draft, const GenerationConfig& config,
                        const AnswerConstraint::PlacePtr& place) {
  if (!config.constraint) return draft;
  return draft.first(static_cast<size_t>(count_allowed(place, draft)));
}

bool commit_tokens(Sequence& sequence, TokenSpan tokens, const GenerationConfig& config,
                   const TokenCallback& on_tokens, GenerationResult& result) {
  const auto stop = std::ranges::find_if(
      tokens, [&](TokenId token) { return is_stop_token(config.stop_tokens, token); });
  const int64_t until_stop = stop - tokens.begin() + (stop == tokens.end() ? 0 : 1);
  int64_t count = std::min(until_stop, config.max_new_tokens - result.num_new_tokens);
  const bool is_dead_end = count > 0 && tokens[static_cast<size_t>(count) - 1] == kNoToken;
  if (is_dead_end) --count;
  result.num_accepted += std::min(count, std::ssize(tokens) - 1);  // the last is the pass's own
  tokens = tokens.first(static_cast<size_t>(count));
  sequence.append(tokens);
  result.num_new_tokens += count;
  const bool stopped = count > 0 && is_stop_token(config.stop_tokens, tokens.back());
  const bool wanted = !on_tokens || (is_dead_end && count == 0) || on_tokens(tokens);
  if (is_dead_end && wanted) {
    config.constraint->fail_at_dead_end(sequence.size() - config.answer_begin);
  }
  if (stopped) {
    result.stop_reason = StopReason::kStopToken;
  } else if (!wanted) {
    result.stop_reason = StopReason::kCancelled;
  }
  return !stopped && wanted;
}

bool has_room(const Sequence& sequence, const GenerationConfig& config, GenerationResult& result) {
  if (result.num_new_tokens >= config.max_new_tokens) {
    result.stop_reason = StopReason::kMaxNewTokens;
    return false;
  }
  if (sequence.size() > sequence.capacity()) {
    result.stop_reason = StopReason::kCacheFull;
    return false;
  }
  return true;
}

namespace {

/// A path of a tree, and where it leads to.
struct PathEnd {
  int64_t index = -1;
  TokenIds path;
  AnswerConstraint::PlacePtr place;
};

/// The tree's beginning, and each path that has no continuation.
std::vector<PathEnd> ends_of(const TokenTree& tree, const AnswerConstraint::PlacePtr& place) {
  std::vector<PathEnd> all{{.index = -1, .path = {}, .place = place}};
  std::vector<bool> goes_on(1);
  for (int64_t token = 0; token < tree.size(); ++token) {
    const auto parent = static_cast<size_t>(tree.parent(token) + 1);
    PathEnd end{.index = token, .path = all[parent].path, .place = all[parent].place};
    end.path.push_back(tree.tokens()[static_cast<size_t>(token)]);
    if (end.place) end.place = end.place->next(end.path.back());
    goes_on[parent] = true;
    goes_on.push_back(false);
    all.push_back(std::move(end));
  }
  goes_on.front() = false;
  std::erase_if(all,
                [&](const PathEnd& end) { return goes_on[static_cast<size_t>(end.index + 1)]; });
  return all;
}

}  // namespace

std::vector<int64_t> add_forced(TokenTree& tree, const AnswerConstraint::PlacePtr& place,
                                int64_t most, int64_t deepest) {
  std::vector<int64_t> continued;
  if (!place) return continued;
  const int64_t room = tree.size() + std::min(most, kMostForced);
  for (PathEnd& end : ends_of(tree, place)) {
    if (!end.place) continue;
    const auto depth = std::ssize(end.path);
    const TokenIds forced = end.place->forced(std::min(kMostForced, deepest - depth));
    end.path.insert(end.path.end(), forced.begin(), forced.end());
    const std::vector<int64_t> path = tree.add(end.path, room);
    if (std::ssize(path) <= depth) continue;
    continued.push_back(end.index);
    continued.insert(continued.end(), path.begin() + depth, path.end() - 1);
  }
  return continued;
}

}  // namespace predgen
