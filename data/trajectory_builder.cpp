#include "data/trajectory_builder.h"

#include <algorithm>
#include <condition_variable>

#include "core/error.h"
#include "core/hash.h"
#include "core/mutex.h"
#include "core/random.h"
#include "core/stop.h"
#include "data/hdf5_store.h"
#include "model/language_model.h"
#include "text/token_ids.h"
#include "text/utf8.h"

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

namespace {

constexpr int kTrajectoryVersion = 1;  // raise it when the same configuration yields other states

/// The answer the collector found in place of the dataset's.
void use_fixed_point(const Trajectory& trajectory, Record& record) {
  record.tokens.resize(static_cast<size_t>(record.prompt_length));
  record.loss_mask.assign(record.tokens.size(), 0);
  record.tokens.insert(record.tokens.end(), trajectory.answer.begin(), trajectory.answer.end());
  record.loss_mask.resize(record.tokens.size(), 1);
}

/// How many of the dataset's records to answer. UserError if the configuration needs labels that
/// the dataset lacks.
int64_t records_to_answer(const TrajectoryConfig& config, const DatasetReader& dataset) {
  const int64_t count =
      config.max_records > 0 ? std::min(config.max_records, dataset.size()) : dataset.size();
  for (int64_t i = 0; i < count; ++i) {
    if (!dataset.size_of(i).has_branches) continue;
    throw UserError(
        "{}: its questions stand alone in a record, but a trajectory is of one answer: "
        "build it with the law \"truncated\"",
        config.dataset.string());
  }
  if (config.ar_labels == ArLabels::kFixedPoint) return count;
  int64_t num_prompts = 0;
  for (int64_t i = 0; i < count; ++i) {
    const RecordSize size = dataset.size_of(i);
    num_prompts += size.tokens == size.prompt_length ? 1 : 0;
  }
  if (num_prompts > 0) {
    throw UserError(
        "{}: {} of {} records are prompts without an answer, which ar_labels: dataset would take "
        "as "
        "labels; ar_labels=fixed_point takes what the model answers",
        config.dataset.string(), num_prompts, count);
  }
  return count;
}

Json no_counts() {
  return {{"records_read", 0},
          {"dropped",
           {{"prompt_too_long", 0},
            {"repeated_token", 0},
            {"repeated_ngram", 0},
            {"repeated_sentence", 0}}},
          {"records", 0},
          {"answers_cut_at_limit", 0},
          {"answer_tokens", 0},
          {"blocks", 0},
          {"blocks_at_fixed_point", 0},
          {"states", 0}};
}

void count(Json& counters, const std::string& name, int64_t amount) {
  counters[name] = counters[name].get<int64_t>() + amount;
}

/// Waits for progress of other processes.
void wait_a_little(const std::stop_token& stop) {
  wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(200), stop);
}

}  // namespace

TrajectoryBuild::TrajectoryBuild(const TrajectoryConfig& config, const std::string& model_hash,
                                 const Tokenizer& tokenizer)
    : config_(config),
      tokenizer_(tokenizer),
      dataset_(open_dataset(config.dataset)),
      num_records_(records_to_answer(config, *dataset_)),
      folder_(config.output, recipe(model_hash), num_pieces()) {}

int64_t TrajectoryBuild::num_pieces() const {
  return (num_records_ + config_.records_per_piece - 1) / config_.records_per_piece;
}

Json TrajectoryBuild::recipe(const std::string& model_hash) const {
  const Json& source = dataset_->manifest();
  const Json& source_recipe = source.at("recipe");
  if (source_recipe.contains("tokenizer") &&
      source_recipe.at("tokenizer") != tokenizer_.content_hash()) {
    throw UserError("{}: was built with another tokenizer than that of {}",
                    config_.dataset.string(), config_.model.string());
  }
  return {{"kind", "trajectories"},
          {"builder_version", kTrajectoryVersion},
          {"dataset", recipe_hash(source_recipe)},
          {"dataset_shards", Hasher().add(source.at("shards").dump()).hex()},
          {"tokenizer", tokenizer_.content_hash()},
          {"model", model_hash},
          {"dtype", config_.dtype},
          {"seed", config_.seed},
          {"block_size", config_.block_size},
          {"max_new_tokens", config_.max_new_tokens},
          {"max_records", config_.max_records},
          {"records_per_piece", config_.records_per_piece},
          {"ar_labels", config_.ar_labels == ArLabels::kDataset ? "dataset" : "fixed_point"},
          {"cleaning",
           {{"max_token_run", config_.cleaning.max_token_run},
            {"ngram_size", config_.cleaning.ngram_size},
            {"max_ngram_repeats", config_.cleaning.max_ngram_repeats},
            {"max_sentence_repeats", config_.cleaning.max_sentence_repeats}}}};
}

bool TrajectoryBuild::run(Engine& engine, const RankShare& share, const std::stop_token& stop) {
  if (is_finished()) return false;
  std::optional<Progress> progress;
  if (share.rank == 0) progress.emplace("data trajectories", "records", num_records_);
  while (folder_.num_written() < num_pieces()) {
    throw_if_stopped(stop);
    if (std::optional<PieceFolder::Piece> piece = folder_.claim(share)) {
      write_piece(std::move(*piece), engine, progress ? &*progress : nullptr, stop);
      continue;
    }
    if (progress) {
      progress->update(folder_.num_written() * config_.records_per_piece,
                       "the others have what is left");
    }
    wait_a_little(stop);
  }
  if (progress) progress->update(num_records_);
  return folder_.finish();
}

void TrajectoryBuild::write_piece(PieceFolder::Piece piece, Engine& engine, Progress* progress,
                                  const std::stop_token& stop) {
  const int64_t begin = piece.index * config_.records_per_piece;
  const int64_t end = std::min(begin + config_.records_per_piece, num_records_);
  std::vector<Record> records;
  std::vector<size_t> solvable;
  std::vector<TrajectoryPrompt> prompts;
  for (int64_t i = begin; i < end; ++i) {
    const Record& record = records.emplace_back(dataset_->read(i));
    if (record.prompt_length + config_.block_size > engine.model().max_positions()) continue;
    solvable.push_back(records.size() - 1);
    prompts.push_back(
        {.index = static_cast<uint64_t>(i),
         .tokens = {record.tokens.begin(), record.tokens.begin() + record.prompt_length}});
  }
  const CollectorConfig collector{.block_size = config_.block_size,
                                  .max_new_tokens = config_.max_new_tokens,
                                  .batch_tokens = config_.batch_tokens,
                                  .cache_positions = config_.cache_positions,
                                  .seed = static_cast<uint64_t>(config_.seed),
                                  .stop_tokens = tokenizer_.stop_tokens()};
  const int64_t others = folder_.num_written() * config_.records_per_piece;
  std::vector<Trajectory> solved =
      collect_trajectories(engine, prompts, collector, stop, [&](int64_t num_solved) {
        if (progress != nullptr) progress->update(others + num_solved);
      });
  std::vector<Trajectory> trajectories(records.size());
  for (size_t i = 0; i < solved.size(); ++i) trajectories[solvable[i]] = std::move(solved[i]);

  RecordColumns columns;
  Json counters = no_counts();
  for (size_t i = 0; i < records.size(); ++i) keep(records[i], trajectories[i], columns, counters);
  folder_.write(std::move(piece), columns, counters);
}

void TrajectoryBuild::keep(Record& record, Trajectory& trajectory, RecordColumns& records,
                           Json& counters) const {
  count(counters, "records_read", 1);
  std::string drop = "prompt_too_long";
  if (!trajectory.blocks.empty()) {
    // A model may write an incomplete character.
    const std::string text = replace_ill_formed_utf8(tokenizer_.decode(trajectory.answer));
    drop = find_repetition(trajectory.answer, text, config_.cleaning);
  }
  if (!drop.empty()) return count(counters["dropped"], drop, 1);
  count(counters, "records", 1);
  count(counters, "answers_cut_at_limit", trajectory.stopped ? 0 : 1);
  count(counters, "answer_tokens", static_cast<int64_t>(trajectory.answer.size()));
  for (const TrajectoryBlock& block : trajectory.blocks) {
    count(counters, "blocks", 1);
    count(counters, "blocks_at_fixed_point", block.states.size() == 1 ? 1 : 0);
    count(counters, "states", static_cast<int64_t>(block.states.size()));
  }
  if (config_.ar_labels == ArLabels::kFixedPoint) use_fixed_point(trajectory, record);
  record.blocks = std::move(trajectory.blocks);
  records.append(record);
}

}  // namespace predgen::data
