#include "train/noisy_rows.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace predgen {
namespace {

// The same record draws the same numbers in whatever micro-batch it comes.
Random record_random(const Record& record, uint64_t step_seed) {
  return Random(step_seed, record.conversation_id, static_cast<uint64_t>(record.round));
}

// The blocks up to the one that holds the stop token, and that token's place in the answer.
struct Extent {
  size_t num_blocks = 0;
  int64_t num_tokens = 0;  // up to and without the stop token
};

Extent answer_extent(const Record& record, const TokenIds& stop_tokens) {
  Extent extent;
  for (const TrajectoryBlock& block : record.blocks) {
    ++extent.num_blocks;
    for (const TokenId token : block.states.back()) {
      if (std::ranges::find(stop_tokens, token) != stop_tokens.end()) return extent;
      ++extent.num_tokens;
    }
  }
  return extent;
}

size_t choose_state(const TrajectoryBlock& block, size_t index, const ConsistencyOptions& options,
                    Random& random) {
  if (options.states == StateChoice::kProgressive) {
    return progressive_state(block, static_cast<int64_t>(index), options.noise_window);
  }
  const size_t num_noisy = block.states.size() - 1;
  return num_noisy == 0 ? 0 : static_cast<size_t>(random.below(num_noisy));
}

}  // namespace

int64_t RecordRows::num_positions() const {
  int64_t count = 0;
  for (const NoisyRow& row : noisy) count += static_cast<int64_t>(row.columns.size());
  return count;
}

int64_t first_mismatch(const TokenIds& state, const TokenIds& fixed_point) {
  PREDGEN_CHECK(state.size() == fixed_point.size(), "states of {} and {} tokens", state.size(),
                fixed_point.size());
  return std::ranges::mismatch(state, fixed_point).in1 - state.begin();
}

size_t progressive_state(const TrajectoryBlock& block, int64_t block_index, int64_t window) {
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

RecordRows make_noisy_rows(const Record& record, const ConsistencyOptions& options,
                           uint64_t step_seed) {
  RecordRows rows;
  const Extent extent = answer_extent(record, options.stop_tokens);
  if (extent.num_blocks == 0) return rows;
  PREDGEN_CHECK(record.prompt_length >= 1 &&
                    record.prompt_length <= static_cast<int64_t>(record.tokens.size()),
                "prompt length {} of {} tokens", record.prompt_length, record.tokens.size());
  const TokenIds prompt(record.tokens.begin(), record.tokens.begin() + record.prompt_length);
  rows.clean = prompt;
  Random random = record_random(record, step_seed);
  const size_t only = static_cast<size_t>(random.below(extent.num_blocks));
  const double weight =
      options.mean_over_blocks ? 1.0 / static_cast<double>(extent.num_blocks) : 1.0;

  NoisyRow whole{prompt, {}, weight};  // kNoisy: all blocks, one behind the other
  for (size_t b = 0; b < extent.num_blocks; ++b) {
    const TokenIds& fixed_point = record.blocks[b].states.back();
    const size_t index = choose_state(record.blocks[b], b, options, random);
    const TokenIds& state = record.blocks[b].states[index];
    const auto block_begin = static_cast<int64_t>(rows.clean.size());
    const auto n = static_cast<int64_t>(fixed_point.size());
    // The stop token is predicted by the position before it; its own position predicts nothing.
    const int64_t end = std::min(block_begin + n, record.prompt_length + extent.num_tokens);
    std::vector<int64_t> columns;
    for (int64_t c = block_begin + first_mismatch(state, fixed_point); c < end; ++c) {
      columns.push_back(c);
    }
    if (options.context == NoisyContext::kNoisy) {
      whole.tokens.insert(whole.tokens.end(), state.begin(), state.end());
      whole.columns.insert(whole.columns.end(), columns.begin(), columns.end());
    } else if (!columns.empty() && (options.blocks == BlockChoice::kEvery || b == only)) {
      NoisyRow row{rows.clean, columns, weight};
      row.tokens.insert(row.tokens.end(), state.begin(), state.end());
      rows.noisy.push_back(std::move(row));
    }
    rows.clean.insert(rows.clean.end(), fixed_point.begin(), fixed_point.end());
  }
  if (!whole.columns.empty()) rows.noisy.push_back(std::move(whole));
  for (NoisyRow& row : rows.noisy) {  // inputs behind the last compared position change nothing
    row.tokens.resize(static_cast<size_t>(row.columns.back()) + 1);
  }
  return rows;
}

}  // namespace predgen
