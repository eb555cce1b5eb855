#include "data/trajectory_collector.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "core/stop.h"
#include "model/most_likely.h"
#include "text/stop_tokens.h"

namespace predgen::data {
namespace {

/// One answer under way.
struct CollectedRow {
  size_t prompt;       // its number
  Sequence sequence;   // prompt, solved blocks and the next one's solved part, >= 1 token
  TokenIds state{};    // of the block being solved; empty until the prompt has run
  int64_t solved = 0;  // its positions up to this one are in the sequence
  bool finished = false;

  /// The part of the block after its solved part, to be run.
  TokenSpan draft() const {
    const TokenSpan all = state;
    return all.empty() ? all : all.subspan(static_cast<size_t>(solved) + 1);
  }
  int64_t num_tokens() const { return std::ssize(sequence.pending()) + std::ssize(draft()); }
};

class Collector {
 public:
  Collector(Engine& engine, std::span<const TrajectoryPrompt> prompts,
            const CollectorConfig& config)
      : engine_(engine), prompts_(prompts), config_(config), trajectories_(prompts.size()) {
    PREDGEN_CHECK(config.block_size >= 1 && config.max_new_tokens >= 1, "block size {}",
                  config.block_size);
    const int64_t num_blocks = (config.max_new_tokens + config.block_size - 1) / config.block_size;
    max_new_tokens_ = num_blocks * config.block_size;
  }

  std::vector<Trajectory> solve(const std::stop_token& stop,
                                const std::function<void(int64_t)>& on_solved) {
    while (next_ < prompts_.size() || !rows_.empty()) {
      throw_if_stopped(stop);
      run(choose_rows());
      if (std::erase_if(rows_, [](const CollectedRow& row) { return row.finished; }) > 0) {
        on_solved(static_cast<int64_t>(next_ - rows_.size()));
      }
    }
    return std::move(trajectories_);
  }

 private:
  /// The rows that the next pass has room for, oldest first; starts new ones if room is left.
  std::vector<CollectedRow*> choose_rows() {
    int64_t room = config_.batch_tokens, free_positions = config_.cache_positions;
    std::vector<bool> chosen;
    for (const CollectedRow& row : rows_) {
      const bool fits = row.num_tokens() <= room || &row == &rows_.front();
      chosen.push_back(fits);
      room -= fits ? row.num_tokens() : 0;
      free_positions -= row.sequence.capacity();
    }
    while (next_ < prompts_.size()) {
      const TokenIds& prompt = prompts_[next_].tokens;
      PREDGEN_CHECK(!prompt.empty(), "empty prompt");
      const int64_t length = std::ssize(prompt);
      // The rest of a long prompt runs in passes of its own.
      const bool fits = room >= std::min(length, std::max<int64_t>(1, config_.batch_tokens / 2));
      Sequence sequence = engine_.make_sequence(length + max_new_tokens_);
      free_positions -= sequence.capacity();
      if (!rows_.empty() && (!fits || free_positions < 0)) break;
      sequence.append(prompt);
      rows_.push_back({next_++, std::move(sequence)});
      chosen.push_back(true);
      room -= length;
    }
    std::vector<CollectedRow*> rows;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (chosen[i]) rows.push_back(&rows_[i]);
    }
    return rows;
  }

  void run(const std::vector<CollectedRow*>& rows) {
    std::vector<EngineRequest> requests;
    for (CollectedRow* row : rows)
      requests.push_back({.sequence = &row->sequence, .draft = row->draft()});
    const std::vector<EngineResult> results = engine_.run(requests);
    std::vector<at::Tensor> best;  // logits are large: only their argmax is kept
    for (const EngineResult& result : results) best.push_back(most_likely(*result.logits));
    const at::Tensor choices = at::cat(best).to(at::kCPU);  // one transfer
    const TokenId* begin = choices.const_data_ptr<TokenId>();
    for (size_t i = 0; i < rows.size(); ++i) {
      const TokenId* end = begin + results[i].logits->size(0);
      take(*rows[i], TokenSpan(begin, end));
      begin = end;
    }
  }

  /// `choices`: the most likely tokens after the last one of the sequence and after each that is
  /// not solved.
  void take(CollectedRow& row, TokenSpan choices) {
    if (row.state.empty()) {
      row.sequence.append(choices);
      return start_block(row);
    }
    TokenIds state = row.state;
    const auto unsolved = state.begin() + row.solved + 1;
    std::copy(choices.begin(), choices.end() - 1, unsolved);
    // Positions before the first change are at their fixed point, and so is their next token.
    const auto change =
        std::mismatch(unsolved, state.end(), row.state.begin() + row.solved + 1).first;
    if (change == state.end()) {
      state.push_back(choices.back());
      row.sequence.append(TokenSpan(state).subspan(static_cast<size_t>(row.solved) + 1));
      return finish_block(row);
    }
    row.sequence.append(TokenSpan(unsolved, change + 1));
    row.solved = change - state.begin();
    trajectories_[row.prompt].blocks.back().states.push_back(state);
    row.state = std::move(state);
  }

  void start_block(CollectedRow& row) {
    std::vector<TrajectoryBlock>& blocks = trajectories_[row.prompt].blocks;
    Random random(config_.seed, "guess", (prompts_[row.prompt].index << 20) + blocks.size());
    const TokenSpan tokens = row.sequence.tokens();
    row.state = {tokens.back()};  // the model's choice after the earlier tokens
    while (std::ssize(row.state) < config_.block_size) {
      row.state.push_back(tokens[random.below(tokens.size())]);
    }
    row.solved = 0;
    blocks.push_back({{row.state}});
  }

  void finish_block(CollectedRow& row) {
    Trajectory& trajectory = trajectories_[row.prompt];
    for (const TokenId token : row.state) {
      trajectory.answer.push_back(token);
      trajectory.stopped = is_stop_token(config_.stop_tokens, token);
      row.finished = trajectory.stopped || std::ssize(trajectory.answer) >= config_.max_new_tokens;
      if (row.finished) return;
    }
    // The sequence already has the next block's first token.
    row.finished = row.sequence.size() - 1 + config_.block_size > engine_.model().max_positions();
    if (!row.finished) start_block(row);
  }

  Engine& engine_;
  const std::span<const TrajectoryPrompt> prompts_;
  const CollectorConfig& config_;
  int64_t max_new_tokens_ = 0;
  std::vector<Trajectory> trajectories_;  // one for each prompt
  std::vector<CollectedRow> rows_;        // the oldest first
  size_t next_ = 0;                       // prompt to begin
};

}  // namespace

std::vector<Trajectory> collect_trajectories(Engine& engine,
                                             std::span<const TrajectoryPrompt> prompts,
                                             const CollectorConfig& config,
                                             const std::stop_token& stop,
                                             const std::function<void(int64_t)>& on_solved) {
  return Collector(engine, prompts, config).solve(stop, on_solved);
}

}  // namespace predgen::data
