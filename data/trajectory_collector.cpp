#include "data/trajectory_collector.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "core/stop.h"
#include "runtime/generate/sampler.h"

namespace predgen {
namespace {

/// One prompt on its way through the blocks.
struct Row {
  const TrajectoryPrompt* prompt = nullptr;
  int64_t padding = 0;
  TokenIds sequence;  // prompt and solved blocks
  TokenId next = 0;   // the model's choice behind `sequence`
  TokenIds state;     // of the block being solved
  bool converged = false, finished = false;
  Trajectory trajectory;
};

class BatchSolver {
 public:
  BatchSolver(const LanguageModel& model, std::span<const TrajectoryPrompt> prompts,
              const CollectorConfig& config, const std::stop_token& stop)
      : model_(model), config_(config), stop_(stop) {
    PREDGEN_CHECK(config.block_size >= 1 && config.max_answer_tokens >= 1, "block size {}",
                  config.block_size);
    for (const TrajectoryPrompt& prompt : prompts) {
      PREDGEN_CHECK(!prompt.tokens.empty(), "empty prompt");
      width_ = std::max(width_, static_cast<int64_t>(prompt.tokens.size()));
    }
    for (const TrajectoryPrompt& prompt : prompts) {
      Row row;
      row.prompt = &prompt;
      row.padding = width_ - static_cast<int64_t>(prompt.tokens.size());
      row.sequence = prompt.tokens;
      rows_.push_back(std::move(row));
    }
    const int64_t num_blocks =
        (config.max_answer_tokens + config.block_size - 1) / config.block_size;
    cache_ = model.make_cache(num_rows(), width_ + num_blocks * config.block_size);
  }

  std::vector<Trajectory> solve() {
    prefill();
    for (uint64_t block = 0; !all_finished(); ++block) solve_block(block);
    std::vector<Trajectory> result;
    for (Row& row : rows_) result.push_back(std::move(row.trajectory));
    return result;
  }

 private:
  int64_t num_rows() const { return static_cast<int64_t>(rows_.size()); }
  bool all_finished() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.finished; });
  }

  /// The most likely token behind each of the last `num_logits` tokens, row after row.
  TokenIds forward(const at::Tensor& tokens_BT, int64_t num_logits) {
    const int64_t num_tokens = tokens_BT.size(1), past = cache_->length();
    ForwardInput input;
    input.tokens_BT = tokens_BT;
    input.num_logits = num_logits;
    if (std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.padding > 0; })) {
      at::Tensor paddings_B = at::empty({num_rows()}, at::kLong);
      for (int64_t b = 0; b < num_rows(); ++b)
        paddings_B[b] = rows_[static_cast<size_t>(b)].padding;
      const at::Tensor queries_T = at::arange(past, past + num_tokens, at::kLong);
      const at::Tensor keys_S = at::arange(past + num_tokens, at::kLong);
      input.positions_BT = (queries_T.unsqueeze(0) - paddings_B.unsqueeze(1)).clamp_min(0);
      const at::Tensor causal_TS = keys_S.unsqueeze(0) <= queries_T.unsqueeze(1);
      const at::Tensor real_BS = keys_S.unsqueeze(0) >= paddings_B.unsqueeze(1);
      // Padding sees itself: a softmax over nothing would be NaN and spread through the values.
      const at::Tensor self_TS = keys_S.unsqueeze(0) == queries_T.unsqueeze(1);
      input.attention_mask_B1TS =
          ((causal_TS.unsqueeze(0) & real_BS.unsqueeze(1)) | self_TS.unsqueeze(0)).unsqueeze(1);
    }
    const at::Tensor logits_BNV = model_.forward(input, *cache_);
    return argmax_rows(logits_BNV.reshape({-1, logits_BNV.size(-1)}));
  }

  void prefill() {
    at::Tensor tokens_BT = at::zeros({num_rows(), width_}, at::kLong);
    for (int64_t b = 0; b < num_rows(); ++b) {
      const Row& row = rows_[static_cast<size_t>(b)];
      std::copy(row.sequence.begin(), row.sequence.end(),
                tokens_BT.data_ptr<int64_t>() + b * width_ + row.padding);
    }
    const TokenIds next = forward(tokens_BT, 1);
    for (size_t b = 0; b < rows_.size(); ++b) rows_[b].next = next[b];
  }

  void start_block(uint64_t block) {
    for (Row& row : rows_) {
      // A finished row is carried along; what it computes is not kept.
      Random random(config_.seed, "guess", (row.prompt->index << 20) + block);
      row.converged = row.finished;
      row.state = {row.next};
      row.sequence.push_back(row.next);
      while (static_cast<int64_t>(row.state.size()) < config_.block_size) {
        row.state.push_back(row.sequence[random.below(row.sequence.size())]);
      }
      row.sequence.pop_back();
      if (!row.finished) row.trajectory.blocks.push_back({{row.state}});
    }
  }

  void solve_block(uint64_t block) {
    throw_if_stopped(stop_);
    start_block(block);
    const int64_t begin = cache_->length(), size = config_.block_size;
    for (int64_t solved = 0; solved < size;) {
      solved = iterate(solved);
      cache_->truncate(begin + solved);
    }
    for (Row& row : rows_) {
      row.sequence.insert(row.sequence.end(), row.state.begin(), row.state.end());
      if (!row.finished) finish_block(row);
    }
  }

  /// One pass over the positions from `solved` on. Returns how many positions of the block are at
  /// their fixed point in every unfinished row.
  int64_t iterate(int64_t solved) {
    const int64_t size = config_.block_size, num_tokens = size - solved;
    at::Tensor tokens_BT = at::empty({num_rows(), num_tokens}, at::kLong);
    for (int64_t b = 0; b < num_rows(); ++b) {
      const TokenIds& state = rows_[static_cast<size_t>(b)].state;
      std::copy(state.begin() + solved, state.end(),
                tokens_BT.data_ptr<int64_t>() + b * num_tokens);
    }
    const TokenIds best = forward(tokens_BT, num_tokens);
    int64_t common = size;
    for (size_t b = 0; b < rows_.size(); ++b) {
      Row& row = rows_[b];
      const TokenId* chosen = best.data() + static_cast<int64_t>(b) * num_tokens;
      row.next = chosen[num_tokens - 1];
      if (row.converged) continue;
      TokenIds state = row.state;
      std::copy(chosen, chosen + num_tokens - 1, state.begin() + solved + 1);
      const auto change = std::mismatch(state.begin(), state.end(), row.state.begin()).first;
      row.converged = change == state.end();
      if (row.converged) continue;
      common = std::min<int64_t>(common, change - state.begin());
      row.trajectory.blocks.back().states.push_back(state);
      row.state = std::move(state);
    }
    return common;
  }

  void finish_block(Row& row) {
    TokenIds& answer = row.trajectory.answer;
    for (const TokenId token : row.state) {
      answer.push_back(token);
      const TokenIds& stops = config_.stop_tokens;
      row.trajectory.stopped = std::find(stops.begin(), stops.end(), token) != stops.end();
      row.finished = row.trajectory.stopped ||
                     static_cast<int64_t>(answer.size()) >= config_.max_answer_tokens;
      if (row.finished) return;
    }
    row.finished =
        static_cast<int64_t>(row.sequence.size()) + config_.block_size > model_.max_positions();
  }

  const LanguageModel& model_;
  const CollectorConfig& config_;
  const std::stop_token& stop_;
  std::vector<Row> rows_;
  int64_t width_ = 0;  // of the longest prompt
  std::unique_ptr<KvCache> cache_;
};

}  // namespace

std::vector<Trajectory> collect_trajectories(const LanguageModel& model,
                                             std::span<const TrajectoryPrompt> prompts,
                                             const CollectorConfig& config,
                                             const std::stop_token& stop) {
  if (prompts.empty()) return {};
  return BatchSolver(model, prompts, config, stop).solve();
}

}  // namespace predgen
