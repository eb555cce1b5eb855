#include "train/objectives/packed_row.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/error.h"
#include "core/random.h"
#include "text/token_ids.h"

namespace predgen::train {
namespace {

// A record draws the same numbers in any micro-batch.
Random record_random(const data::Record& record, uint64_t step_seed) {
  return Random(step_seed, record.conversation_id, static_cast<uint64_t>(record.round));
}

// The blocks through the one that holds the stop token, and that token's place in the answer.
struct Extent {
  size_t num_blocks = 0;
  int64_t num_tokens = 0;  // before the stop token
};

Extent answer_extent(const data::Record& record, const TokenIds& stop_tokens) {
  Extent extent;
  for (const data::TrajectoryBlock& block : record.blocks) {
    ++extent.num_blocks;
    for (const TokenId token : block.states.back()) {
      if (is_stop_token(stop_tokens, token)) return extent;
      ++extent.num_tokens;
    }
  }
  return extent;
}

/// Indices of different noisy states of a block.
std::vector<size_t> choose_states(const data::TrajectoryBlock& block, size_t index,
                                  const ConsistencyOptions& options, Random& random) {
  if (options.states == StateChoice::kProgressive) {
    return {progressive_state(block, static_cast<int64_t>(index), options.noise_window)};
  }
  std::vector<size_t> states(block.states.size() - 1);
  std::iota(states.begin(), states.end(), 0);
  random.shuffle(states);
  if (states.size() > static_cast<size_t>(options.states_per_block)) {
    states.resize(static_cast<size_t>(options.states_per_block));
  }
  return states;
}

/// The tokens of a segment, and which of them learn.
struct Noise {
  TokenIds tokens;
  std::vector<int64_t> learning;  // offsets in `tokens`
  std::vector<int64_t> distance;  // of each learning token from its block's first mismatch
  int64_t place = 0;              // its first token's position in the clean part

  /// Adds `state` and its tokens from the first mismatch up to clean position `end`.
  void add(const TokenIds& state, const TokenIds& fixed_point, int64_t end) {
    const auto begin = static_cast<int64_t>(tokens.size());
    const int64_t last = std::min(static_cast<int64_t>(state.size()), end - place - begin);
    const int64_t first = first_mismatch(state, fixed_point);
    for (int64_t i = first; i < last; ++i) {
      learning.push_back(begin + i);
      distance.push_back(i - first);
    }
    tokens.insert(tokens.end(), state.begin(), state.end());
  }
};

void append(const Noise& noise, double decay, double weight, PackedRow& row) {
  if (noise.learning.empty()) return;
  const auto begin = static_cast<int64_t>(row.tokens.size());
  // Inputs after the last learning position have no effect.
  const int64_t size = noise.learning.back() + 1;
  row.segments.push_back({begin, size, noise.place});
  row.tokens.insert(row.tokens.end(), noise.tokens.begin(), noise.tokens.begin() + size);
  for (const int64_t offset : noise.learning) {
    row.student.push_back(begin + offset);
    row.teacher.push_back(noise.place + offset);
  }
  for (const int64_t distance : noise.distance) {
    const double share = std::pow(decay, static_cast<double>(distance));
    row.weights.push_back(weight * share);
    row.count += share;
  }
}

}  // namespace

int64_t first_mismatch(const TokenIds& state, const TokenIds& fixed_point) {
  PREDGEN_CHECK(state.size() == fixed_point.size(), "states of {} and {} tokens", state.size(),
                fixed_point.size());
  return std::ranges::mismatch(state, fixed_point).in1 - state.begin();
}

size_t progressive_state(const data::TrajectoryBlock& block, int64_t block_index, int64_t window) {
  const double target =
      window <= 1 ? 1.0
                  : static_cast<double>(block_index % window) / static_cast<double>(window - 1);
  const TokenIds& fixed_point = block.states.back();
  const auto n = static_cast<double>(fixed_point.size());
  size_t best = 0;
  double best_distance = 2.0;
  for (size_t i = 0; i < block.states.size(); ++i) {
    const auto mismatch = static_cast<double>(first_mismatch(block.states[i], fixed_point));
    const double distance = std::abs((n - mismatch) / n - target);
    if (distance < best_distance) {
      best = i;
      best_distance = distance;
    }
  }
  return best;
}

PackedRow pack_row(const data::Record& record, const ConsistencyOptions& options,
                   uint64_t step_seed) {
  PackedRow row;
  const Extent extent = answer_extent(record, options.stop_tokens);
  if (extent.num_blocks == 0) return row;
  PREDGEN_CHECK(record.prompt_length >= 1 &&
                    record.prompt_length <= static_cast<int64_t>(record.tokens.size()),
                "prompt length {} of {} tokens", record.prompt_length, record.tokens.size());
  Random random = record_random(record, step_seed);
  const size_t only = static_cast<size_t>(random.below(extent.num_blocks));
  // Without a phase, answers of few blocks would only ever see the first, least noisy states.
  const bool progressive = options.states == StateChoice::kProgressive;
  const size_t phase =
      progressive ? static_cast<size_t>(random.below(static_cast<uint64_t>(options.noise_window)))
                  : 0;
  const double weight =
      options.mean_over_blocks ? 1.0 / static_cast<double>(extent.num_blocks) : 1.0;

  // The stop token is predicted by the position before it; its own position predicts nothing.
  const int64_t end = record.prompt_length + extent.num_tokens;
  row.tokens.assign(record.tokens.begin(), record.tokens.begin() + record.prompt_length);
  std::vector<Noise> noises;
  Noise whole{{}, {}, {}, record.prompt_length};  // NoisyContext::kNoisy
  for (size_t b = 0; b < extent.num_blocks; ++b) {
    const data::TrajectoryBlock& block = record.blocks[b];
    const TokenIds& fixed_point = block.states.back();
    const auto place = static_cast<int64_t>(row.tokens.size());
    if (options.context == NoisyContext::kNoisy) {
      const std::vector<size_t> states = choose_states(block, b + phase, options, random);
      whole.add(states.empty() ? fixed_point : block.states[states.front()], fixed_point, end);
    } else if (options.blocks == BlockChoice::kEvery || b == only) {
      for (const size_t state : choose_states(block, b + phase, options, random)) {
        noises.push_back({{}, {}, {}, place});
        noises.back().add(block.states[state], fixed_point, end);
      }
    }
    row.tokens.insert(row.tokens.end(), fixed_point.begin(), fixed_point.end());
  }
  if (options.context == NoisyContext::kNoisy) noises.push_back(std::move(whole));
  int64_t num_clean = 0;  // up to the last teacher
  for (const Noise& noise : noises) {
    if (!noise.learning.empty()) {
      num_clean = std::max(num_clean, noise.place + noise.learning.back() + 1);
    }
  }
  row.tokens.resize(static_cast<size_t>(num_clean));
  for (const Noise& noise : noises) append(noise, options.distance_decay, weight, row);
  return row;
}

std::vector<int64_t> add_tokens(const data::Record& record, int64_t size, PackedRow& row) {
  const auto wanted = std::span(record.tokens).first(static_cast<size_t>(size));
  std::vector<int64_t> columns(wanted.size());
  std::iota(columns.begin(), columns.end(), 0);
  if (row.tokens.empty()) {
    row.tokens.assign(wanted.begin(), wanted.end());
    return columns;
  }
  const auto row_size = static_cast<int64_t>(row.tokens.size());
  const auto num_clean =
      static_cast<size_t>(row.segments.empty() ? row_size : row.segments.front().begin);
  const auto [ours, theirs] = std::ranges::mismatch(wanted, std::span(row.tokens).first(num_clean));
  if (ours == wanted.end()) return columns;
  const int64_t place = ours - wanted.begin();
  row.segments.push_back({row_size, size - place, place});
  std::iota(columns.begin() + place, columns.end(), row_size);
  row.tokens.insert(row.tokens.end(), ours, wanted.end());
  return columns;
}

}  // namespace predgen::train
