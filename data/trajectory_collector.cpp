#include "data/trajectory_collector.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/random.h"
#include "core/stop.h"
#include "runtime/generate/sampler.h"
#include "text/stop_tokens.h"

namespace predgen {
namespace {

/// One prompt on its way through the blocks.
struct Row {
  const TrajectoryPrompt* prompt;
  Sequence sequence;   // prompt, solved blocks and what is solved of the next one, at least a token
  TokenIds state{};    // of the block being solved
  int64_t solved = 0;  // its positions up to this one are in the sequence
  bool converged = false, finished = false;
  Trajectory trajectory{};
};

class BatchSolver {
 public:
  BatchSolver(Engine& engine, std::span<const TrajectoryPrompt> prompts,
              const CollectorConfig& config, const std::stop_token& stop)
      : engine_(engine), config_(config), stop_(stop) {
    PREDGEN_CHECK(config.block_size >= 1 && config.max_answer_tokens >= 1, "block size {}",
                  config.block_size);
    const int64_t num_blocks =
        (config.max_answer_tokens + config.block_size - 1) / config.block_size;
    for (const TrajectoryPrompt& prompt : prompts) {
      PREDGEN_CHECK(!prompt.tokens.empty(), "empty prompt");
      const auto length = static_cast<int64_t>(prompt.tokens.size());
      rows_.push_back({&prompt, engine.make_sequence(length + num_blocks * config.block_size)});
      rows_.back().sequence.append(prompt.tokens);
    }
  }

  std::vector<Trajectory> solve() {
    std::vector<Row*> unfinished;
    for (Row& row : rows_) unfinished.push_back(&row);
    run(unfinished, [](Row& row, const TokenIds& choices) { row.sequence.append(choices); });
    for (uint64_t block = 0; !unfinished.empty(); ++block) {
      throw_if_stopped(stop_);
      for (Row* row : unfinished) start_block(*row, block);
      for (std::vector<Row*> open = unfinished; !open.empty();) {
        run(open, iterate);
        std::erase_if(open, [](const Row* row) { return row->converged; });
      }
      for (Row* row : unfinished) finish_block(*row);
      std::erase_if(unfinished, [](const Row* row) { return row->finished; });
    }
    std::vector<Trajectory> result;
    for (Row& row : rows_) result.push_back(std::move(row.trajectory));
    return result;
  }

 private:
  /// Runs what is not solved of the rows' blocks. `take` gets the most likely tokens after the last
  /// one of the sequence and after each that is not solved.
  void run(const std::vector<Row*>& rows, const std::function<void(Row&, const TokenIds&)>& take) {
    std::vector<EngineRequest> requests;
    for (Row* row : rows) {
      const TokenSpan state = row->state;
      requests.push_back(
          {.sequence = &row->sequence,
           .draft = state.empty() ? state : state.subspan(static_cast<size_t>(row->solved) + 1)});
    }
    const std::vector<EngineResult> results = engine_.run(requests);
    std::vector<at::Tensor> logits;
    for (const EngineResult& result : results) logits.push_back(*result.logits);
    const TokenIds choices = argmax_rows(at::cat(logits));
    auto begin = choices.begin();
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto end = begin + results[i].logits->size(0);
      take(*rows[i], TokenIds(begin, end));
      begin = end;
    }
  }

  void start_block(Row& row, uint64_t block) {
    Random random(config_.seed, "guess", (row.prompt->index << 20) + block);
    const TokenSpan tokens = row.sequence.tokens();
    row.state = {tokens.back()};  // the model's choice after what came before
    while (static_cast<int64_t>(row.state.size()) < config_.block_size) {
      row.state.push_back(tokens[random.below(tokens.size())]);
    }
    row.solved = 0;
    row.converged = false;
    row.trajectory.blocks.push_back({{row.state}});
  }

  static void iterate(Row& row, const TokenIds& choices) {
    TokenIds state = row.state;
    const auto unsolved = state.begin() + row.solved + 1;
    std::copy(choices.begin(), choices.end() - 1, unsolved);
    // Positions before the first change are at their fixed point, and so is what comes of them.
    const auto change =
        std::mismatch(unsolved, state.end(), row.state.begin() + row.solved + 1).first;
    row.converged = change == state.end();
    if (row.converged) {
      row.state.push_back(choices.back());
      row.sequence.append(TokenSpan(row.state).subspan(static_cast<size_t>(row.solved) + 1));
      row.state.pop_back();
      return;
    }
    row.sequence.append(TokenSpan(unsolved, change + 1));
    row.solved = change - state.begin();
    row.trajectory.blocks.back().states.push_back(state);
    row.state = std::move(state);
  }

  void finish_block(Row& row) {
    TokenIds& answer = row.trajectory.answer;
    for (const TokenId token : row.state) {
      answer.push_back(token);
      row.trajectory.stopped = is_stop_token(config_.stop_tokens, token);
      row.finished = row.trajectory.stopped ||
                     static_cast<int64_t>(answer.size()) >= config_.max_answer_tokens;
      if (row.finished) return;
    }
    // The sequence has the next block's first token already.
    row.finished = row.sequence.size() - 1 + config_.block_size > engine_.model().max_positions();
  }

  Engine& engine_;
  const CollectorConfig& config_;
  const std::stop_token& stop_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Trajectory> collect_trajectories(Engine& engine,
                                             std::span<const TrajectoryPrompt> prompts,
                                             const CollectorConfig& config,
                                             const std::stop_token& stop) {
  if (prompts.empty()) return {};
  return BatchSolver(engine, prompts, config, stop).solve();
}

}  // namespace predgen
