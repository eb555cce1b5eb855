#include "data/trajectory_builder.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "data/dataset_store.h"
#include "data/hdf5_store.h"
#include "runtime/generate/sampler.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

/// The model's choice after each of the last `count` tokens, in one pass over all of them.
TokenIds choices(const LanguageModel& model, const TokenIds& tokens, int64_t count) {
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(static_cast<int64_t>(tokens.size()));
  return argmax_rows(model.forward({.state = cache.get(), .tokens = tokens, .num_logits = count}));
}

/// Plain greedy decoding, one token a pass.
TokenIds greedy(const LanguageModel& model, TokenIds tokens, int64_t count) {
  for (int64_t i = 0; i < count; ++i) tokens.push_back(choices(model, tokens, 1).front());
  return TokenIds(tokens.end() - count, tokens.end());
}

std::vector<Trajectory> collect(const LanguageModel& model,
                                std::span<const TrajectoryPrompt> prompts,
                                const CollectorConfig& config) {
  Engine engine = borrowing_engine(model);
  return collect_trajectories(engine, prompts, config, {});
}

TokenIds random_prompt(uint64_t seed, uint64_t size, uint64_t vocab) {
  Random random(seed, "test prompt");
  TokenIds prompt(size);
  for (TokenId& token : prompt) token = static_cast<TokenId>(random.below(vocab));
  return prompt;
}

TokenIds fixed_points(const Trajectory& trajectory) {
  TokenIds tokens;
  for (const TrajectoryBlock& block : trajectory.blocks) {
    tokens.insert(tokens.end(), block.states.back().begin(), block.states.back().end());
  }
  return tokens;
}

/// What every trajectory promises, whatever the model.
void check_states(const LanguageModel& model, const TrajectoryPrompt& prompt,
                  const Trajectory& trajectory, const CollectorConfig& config) {
  const auto size = static_cast<size_t>(config.block_size);
  const TokenIds expected =
      greedy(model, prompt.tokens, static_cast<int64_t>(trajectory.blocks.size() * size));
  EXPECT_EQ(fixed_points(trajectory), expected);
  TokenIds sequence = prompt.tokens;
  for (const TrajectoryBlock& block : trajectory.blocks) {
    const TokenIds& last = block.states.back();
    for (size_t s = 0; s < block.states.size(); ++s) {
      ASSERT_EQ(block.states[s].size(), size);
      EXPECT_EQ(block.states[s][0], last[0]);  // the first token was known before the block
      if (s == 0) continue;
      EXPECT_NE(block.states[s], block.states[s - 1]);
      // A pass gives what greedy decoding would choose after each token of the state before it.
      TokenIds context = sequence;
      context.insert(context.end(), block.states[s - 1].begin(), block.states[s - 1].end() - 1);
      const TokenIds chosen = choices(model, context, config.block_size - 1);
      EXPECT_TRUE(std::equal(chosen.begin(), chosen.end(), block.states[s].begin() + 1));
    }
    // The first state is untouched: nothing but tokens of the sequence so far.
    TokenIds known = sequence;
    known.push_back(last[0]);
    for (const TokenId token : block.states.front()) {
      EXPECT_NE(std::find(known.begin(), known.end(), token), known.end());
    }
    sequence.insert(sequence.end(), last.begin(), last.end());
  }
}

CollectorConfig config(int64_t block_size, int64_t max_new_tokens) {
  CollectorConfig result;
  result.block_size = block_size;
  result.max_new_tokens = max_new_tokens;
  result.seed = 5;
  return result;
}

TEST(TrajectoryCollector, StatesAndFixedPointOfAFakeModel) {
  const FakeLanguageModel model({});
  const CollectorConfig collector = config(6, 18);
  std::vector<TrajectoryPrompt> prompts;
  for (uint64_t i = 0; i < 5; ++i) prompts.push_back({i, random_prompt(i, 3 + 4 * i, 31)});
  const auto trajectories = collect(model, prompts, collector);
  ASSERT_EQ(trajectories.size(), 5u);
  size_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(trajectories[i].blocks.size(), 3u);
    EXPECT_EQ(trajectories[i].answer, greedy(model, prompts[i].tokens, 18));
    check_states(model, prompts[i], trajectories[i], collector);
    for (const auto& block : trajectories[i].blocks) {
      longest = std::max(longest, block.states.size());
    }
  }
  EXPECT_GE(longest, 4u);
}

TEST(TrajectoryCollector, TheRandomStateSurvives) {
  // A constant model: whatever the guess, one pass gives the fixed point. If state 0 were
  // overwritten in place, it would equal the last state.
  FakeLanguageModel::Options options;
  options.next = [](TokenSpan) { return TokenId{7}; };
  const FakeLanguageModel model(options);
  const std::vector<TrajectoryPrompt> prompts{{0, {1, 2, 3}}};
  const auto trajectories = collect(model, prompts, config(8, 8));
  const auto& states = trajectories[0].blocks.at(0).states;
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1], TokenIds(8, 7));
  EXPECT_NE(states[0], states[1]);
}

TEST(TrajectoryCollector, StopTokensCountInTheAnswerOnly) {
  constexpr TokenId kStop = 30;
  FakeLanguageModel::Options options;
  options.next = [](TokenSpan history) {  // counts up from the prompt's length
    return history.size() == 16 ? kStop : static_cast<TokenId>(history.size() % 25);
  };
  const FakeLanguageModel model(options);
  CollectorConfig collector = config(4, 40);
  collector.stop_tokens = {kStop};
  const std::vector<TrajectoryPrompt> prompts{{0, {kStop, 1, kStop, 2, 3, kStop}},
                                              {1, {1, 2, 3, 4}}};
  const auto trajectories = collect(model, prompts, collector);
  EXPECT_TRUE(trajectories[0].stopped);
  EXPECT_EQ(trajectories[0].answer.size(), 11u);  // positions 6 .. 16
  EXPECT_EQ(trajectories[0].answer.back(), kStop);
  EXPECT_EQ(trajectories[0].blocks.size(), 3u);
  EXPECT_EQ(trajectories[1].answer.size(), 13u);
  EXPECT_EQ(trajectories[1].blocks.size(), 4u);
}

TEST(TrajectoryCollector, StopsAtTheLimits) {
  FakeLanguageModel::Options options;
  options.max_positions = 20;
  const FakeLanguageModel model(options);
  const std::vector<TrajectoryPrompt> prompts{{0, random_prompt(0, 9, 31)}};
  const auto cut = collect(model, prompts, config(4, 6));
  EXPECT_EQ(cut[0].answer.size(), 6u);
  EXPECT_EQ(cut[0].blocks.size(), 2u);
  EXPECT_FALSE(cut[0].stopped);
  const auto full = collect(model, prompts, config(4, 100));
  EXPECT_EQ(full[0].answer.size(), 8u);  // 9 + 8 + 4 would be beyond 20
}

TEST(TrajectoryCollector, TransformerBatchEqualsSingleRowsAndGreedyDecoding) {
  at::set_num_threads(1);  // tiny products: threads would only wait for each other
  const auto model = small_model(11);
  CollectorConfig collector = config(8, 24);
  std::vector<TrajectoryPrompt> prompts;
  for (uint64_t i = 0; i < 6; ++i) prompts.push_back({i, random_prompt(100 + i, 5 + 7 * i, 61)});
  collector.stop_tokens = {greedy(*model, prompts[2].tokens, 5).back()};
  const auto batch = collect(*model, prompts, collector);
  for (size_t i = 0; i < prompts.size(); ++i) {
    check_states(*model, prompts[i], batch[i], collector);
    const auto single = collect(*model, {&prompts[i], 1}, collector);
    EXPECT_EQ(single[0].answer, batch[i].answer);
    ASSERT_EQ(single[0].blocks.size(), batch[i].blocks.size());
    for (size_t b = 0; b < single[0].blocks.size(); ++b) {
      EXPECT_EQ(single[0].blocks[b].states, batch[i].blocks[b].states);
    }
  }
  EXPECT_TRUE(batch[2].stopped);
}

TEST(TrajectoryCollector, PassesStayWithinTheirTokensAndTheHeadRunsWhereTokensAreTaken) {
  const FakeLanguageModel model({});
  CollectorConfig collector = config(8, 24);
  collector.batch_tokens = 64;
  std::vector<TrajectoryPrompt> prompts;
  int64_t prompt_tokens = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    prompts.push_back({i, random_prompt(i, 2 + (11 * i) % 31, 31)});
    prompt_tokens += std::ssize(prompts.back().tokens);
  }
  Engine engine = borrowing_engine(model);
  int64_t num_tokens = 0, num_logits = 0, num_sequences = 0, last = 0;
  engine.observe_passes([&](const PassSize& size) {
    EXPECT_LE(size.num_tokens, collector.batch_tokens);
    num_tokens += size.num_tokens;
    num_logits += size.num_logits;
    num_sequences += size.num_sequences;
  });
  const auto trajectories =
      collect_trajectories(engine, prompts, collector, {}, [&](int64_t num_solved) {
        EXPECT_GT(num_solved, last);  // answers leave as they are through
        last = num_solved;
      });
  EXPECT_EQ(last, 100);
  for (size_t i = 0; i < prompts.size(); ++i) {
    check_states(model, prompts[i], trajectories[i], collector);
  }
  // One position of a prompt, and all that is not solved of a block.
  EXPECT_EQ(num_logits, num_tokens - prompt_tokens + 100);
  const double passes = static_cast<double>(engine.num_forward_passes());
  EXPECT_GT(static_cast<double>(num_tokens) / passes, 0.7 * 64);  // full, as new ones come in
  EXPECT_GT(static_cast<double>(num_sequences) / passes, 8);      // 64 tokens are 8 whole blocks
}

TEST(TrajectoryCollector, CachesStayWithinTheirPositions) {
  const FakeLanguageModel model({});
  CollectorConfig collector = config(4, 10);
  collector.cache_positions = 50;  // two answers of 12 tokens to prompts of 10
  std::vector<TrajectoryPrompt> prompts;
  for (uint64_t i = 0; i < 9; ++i) prompts.push_back({i, random_prompt(i, 10, 31)});
  prompts.push_back({9, random_prompt(9, 90, 31)});  // more than all of them: alone
  Engine engine = borrowing_engine(model);
  int64_t widest = 0;
  engine.observe_passes(
      [&](const PassSize& size) { widest = std::max(widest, size.num_sequences); });
  const auto trajectories = collect_trajectories(engine, prompts, collector, {});
  EXPECT_EQ(widest, 2);
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(trajectories[i].answer, greedy(model, prompts[i].tokens, 10));
  }
}

namespace fs = std::filesystem;

/// Fails at its n-th pass, like a process that is killed.
class DyingModel : public FakeLanguageModel {
 public:
  DyingModel(Options options, int64_t last_pass)
      : FakeLanguageModel(std::move(options)), last_pass_(last_pass) {}
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    if (num_passes >= last_pass_) throw Error("killed");
    return FakeLanguageModel::forward(steps);
  }

 private:
  int64_t last_pass_;
};

/// Asks for a stop at its n-th pass and goes on.
class StoppingModel : public FakeLanguageModel {
 public:
  StoppingModel(Options options, int64_t stop_at_pass)
      : FakeLanguageModel(std::move(options)), stop_at_pass_(stop_at_pass) {}
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    if (num_passes == stop_at_pass_) stop.request_stop();
    return FakeLanguageModel::forward(steps);
  }
  mutable std::stop_source stop;

 private:
  int64_t stop_at_pass_;
};

Json build_records(const TrajectoryConfig& config, const LanguageModel& model,
                   const std::string& hash, const Tokenizer& tokenizer,
                   const std::stop_token& stop = {}, const RankShare& share = {}) {
  Engine engine = borrowing_engine(model);
  TrajectoryBuild(config, hash, tokenizer).run(engine, share, stop);
  return open_dataset(config.output)->manifest();
}

void write_examples(const fs::path& folder, int64_t count) {
  const auto writer = create_dataset(folder, {{"tokenizer", "fake"}, {"count", count}}, {});
  for (int64_t i = 0; i < count; ++i) {
    Record record;
    record.conversation_id = fmt::format("c{}", i);
    record.prompt_length = 3 + i % 5;
    for (int64_t t = 0; t < record.prompt_length + 2; ++t) {
      record.tokens.push_back((7 * i + t) % 29);
      record.loss_mask.push_back(t >= record.prompt_length);
    }
    writer->append(record);
  }
  writer->finish({});
}

TrajectoryConfig trajectory_config(const TemporaryFolder& folder, const std::string& output) {
  TrajectoryConfig result;
  result.dataset = folder.path() / "examples";
  result.output = folder.path() / output;
  result.block_size = 4;
  result.max_new_tokens = 12;
  result.batch_tokens = 12;
  result.records_per_piece = 5;
  return result;
}

FakeLanguageModel::Options fake() { return {.vocab_size = 256}; }

std::vector<Record> read_all(const fs::path& folder) {
  const auto dataset = open_dataset(folder);
  std::vector<Record> records;
  for (int64_t i = 0; i < dataset->size(); ++i) records.push_back(dataset->read(i));
  return records;
}

std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) {
    result.insert(entry.path().filename().string());
  }
  return result;
}

void expect_same_files(const fs::path& expected, const fs::path& found) {
  EXPECT_EQ(names(expected), names(found));
  for (const std::string& name : names(expected)) {
    EXPECT_EQ(read_file(expected / name), read_file(found / name)) << name;
  }
}

TEST(TrajectoryBuilder, PromptsAloneGetTheModelsAnswers) {
  const TemporaryFolder folder;
  const auto writer = create_dataset(folder / "examples", {{"tokenizer", "fake"}}, {});
  for (int64_t i = 0; i < 3; ++i) {
    Record record;
    record.tokens = {1, 2, 3 + i};
    record.loss_mask = {0, 0, 0};
    record.prompt_length = 3;
    writer->append(record);
  }
  writer->finish({});
  const FakeTokenizer tokenizer;
  TrajectoryConfig prompts = trajectory_config(folder, "out");
  const FakeLanguageModel model(fake());
  expect_user_error([&] { build_records(prompts, model, "m", tokenizer); },
                    {"examples: 3 of 3 records are prompts", "ar_labels=fixed_point"});
  EXPECT_FALSE(fs::exists(prompts.output));
  prompts.ar_labels = ArLabels::kFixedPoint;
  build_records(prompts, model, "m", tokenizer);
  const std::vector<Record> records = read_all(prompts.output);
  ASSERT_FALSE(records.empty());
  for (const Record& record : records) {
    EXPECT_GT(std::ssize(record.tokens), 3);
    EXPECT_EQ(record.loss_mask.back(), 1);
    EXPECT_FALSE(record.blocks.empty());
  }
}

TEST(TrajectoryBuilder, ResumesToTheSameBytes) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 18);
  const FakeTokenizer tokenizer;
  const TrajectoryConfig whole = trajectory_config(folder, "whole"),
                         killed = trajectory_config(folder, "killed");
  const FakeLanguageModel model(fake());
  build_records(whole, model, "m", tokenizer);
  EXPECT_THROW(build_records(killed, DyingModel(fake(), model.num_passes / 2), "m", tokenizer),
               Error);
  EXPECT_FALSE(fs::exists(killed.output / "manifest.json"));
  EXPECT_TRUE(fs::exists(killed.output / "shard-00000.h5"));
  write_file(killed.output / "shard-00003.h5.tmp", "half");
  const FakeLanguageModel again(fake());
  build_records(killed, again, "m", tokenizer);
  EXPECT_LT(again.num_passes, model.num_passes);
  expect_same_files(whole.output, killed.output);
  const FakeLanguageModel unused(fake());
  build_records(killed, unused, "m", tokenizer);
  EXPECT_EQ(unused.num_passes, 0);
}

TEST(TrajectoryBuilder, AStopEndsThePassAndKeepsWhatWasWritten) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 18);
  const FakeTokenizer tokenizer;
  const TrajectoryConfig stopped = trajectory_config(folder, "stopped");
  const FakeLanguageModel model(fake());
  build_records(trajectory_config(folder, "whole"), model, "m", tokenizer, {});
  const StoppingModel stopping(fake(), model.num_passes / 2);
  EXPECT_THROW(build_records(stopped, stopping, "m", tokenizer, stopping.stop.get_token()),
               Interrupted);
  EXPECT_EQ(stopping.num_passes, model.num_passes / 2 + 1);
  EXPECT_TRUE(fs::exists(stopped.output / "shard-00000.h5"));
  EXPECT_FALSE(fs::exists(stopped.output / "manifest.json"));
}

TEST(TrajectoryBuilder, BatchesChangeNothing) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 11);
  TrajectoryConfig many = trajectory_config(folder, "many"), one = trajectory_config(folder, "one");
  many.batch_tokens = 1000;
  one.cache_positions = 1;
  const FakeLanguageModel model(fake()), slow(fake());
  build_records(many, model, "m", FakeTokenizer());
  build_records(one, slow, "m", FakeTokenizer());
  EXPECT_GT(slow.num_passes, 2 * model.num_passes);
  for (const char* name : {"shard-00000.h5", "shard-00002.h5", "manifest.json"}) {
    EXPECT_EQ(read_file(many.output / name), read_file(one.output / name)) << name;
  }
}

TEST(TrajectoryBuilder, RanksTogetherWriteWhatOneWrites) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 43);
  const FakeTokenizer tokenizer;
  const FakeLanguageModel model(fake());
  build_records(trajectory_config(folder, "one"), model, "m", tokenizer);
  for (int64_t num_ranks = 2; num_ranks <= 4; ++num_ranks) {
    const TrajectoryConfig together = trajectory_config(folder, fmt::format("of {}", num_ranks));
    std::atomic<int> num_finished = 0;
    {
      std::vector<std::jthread> ranks;
      for (int64_t rank = 0; rank < num_ranks; ++rank) {
        ranks.emplace_back([&, rank] {
          const FakeLanguageModel own(fake());
          Engine engine = borrowing_engine(own);
          num_finished +=
              TrajectoryBuild(together, "m", tokenizer).run(engine, {rank, num_ranks}, {});
        });
      }
    }
    EXPECT_EQ(num_finished, 1);
    expect_same_files(trajectory_config(folder, "one").output, together.output);
  }
}

TEST(TrajectoryBuilder, WhatARankLeavesTheOthersTake) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 23);
  const FakeTokenizer tokenizer;
  const TrajectoryConfig whole = trajectory_config(folder, "whole"),
                         left = trajectory_config(folder, "left");
  const FakeLanguageModel model(fake());
  build_records(whole, model, "m", tokenizer);
  // Rank 2 of 3 dies in its first piece; rank 0 does its own, rank 1's and rank 2's.
  EXPECT_THROW(build_records(left, DyingModel(fake(), 2), "m", tokenizer, {}, {2, 3}), Error);
  const FakeLanguageModel survivor(fake());
  build_records(left, survivor, "m", tokenizer, {}, {0, 3});
  EXPECT_EQ(survivor.num_passes, model.num_passes);
  expect_same_files(whole.output, left.output);
}

TEST(TrajectoryBuilder, APieceMayLoseAllItsRecords) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 10);
  auto options = fake();
  // The prompts of records 5 to 9 get stuck: a whole piece.
  options.next = [](TokenSpan history) {
    const bool stuck = (history[0] + 29 * 2) % 29 != 0 && history[0] != 7 && history[0] != 14 &&
                       history[0] != 21 && history[0] != 28;
    return stuck ? TokenId{9} : static_cast<TokenId>(100 + history.size());
  };
  const Json manifest = build_records(trajectory_config(folder, "out"), FakeLanguageModel(options),
                                      "m", FakeTokenizer());
  EXPECT_EQ(manifest.at("num_records"), 5);
  EXPECT_EQ(manifest.at("shards").at(1).at("num_records"), 0);
  EXPECT_EQ(manifest.at("counters").at("dropped").at("repeated_token"), 5);
  EXPECT_EQ(read_all(folder.path() / "out").size(), 5u);
}

TEST(TrajectoryBuilder, LabelsOfTheDatasetOrOfTheFixedPoint) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 6);
  TrajectoryConfig dataset = trajectory_config(folder, "dataset"),
                   own = trajectory_config(folder, "own");
  own.ar_labels = ArLabels::kFixedPoint;
  const FakeLanguageModel model(fake());
  build_records(dataset, model, "m", FakeTokenizer());
  build_records(own, model, "m", FakeTokenizer());
  const auto source = read_all(folder.path() / "examples");
  const auto a = read_all(dataset.output), b = read_all(own.output);
  ASSERT_EQ(a.size(), 6u);
  ASSERT_EQ(b.size(), 6u);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, source[i].tokens);
    EXPECT_EQ(a[i].loss_mask, source[i].loss_mask);
    const auto prompt = static_cast<size_t>(b[i].prompt_length);
    ASSERT_EQ(b[i].tokens.size(), prompt + 12);
    for (size_t t = 0; t < b[i].tokens.size(); ++t) {
      EXPECT_EQ(b[i].loss_mask[t], t >= prompt);
      EXPECT_EQ(b[i].tokens[t],
                t < prompt ? source[i].tokens[t]
                           : b[i].blocks[(t - prompt) / 4].states.back()[(t - prompt) % 4]);
    }
  }
}

TEST(TrajectoryBuilder, DropsStuckAnswersAndCounts) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 10);
  TrajectoryConfig build = trajectory_config(folder, "out");
  build.records_per_piece = 3;
  auto options = fake();
  // Prompts that begin with an even token get stuck; the others count up.
  options.next = [](TokenSpan history) {
    return history[0] % 2 == 0 ? TokenId{9} : static_cast<TokenId>(100 + history.size());
  };
  options.max_positions = 4096;
  const Json counters =
      build_records(build, FakeLanguageModel(options), "m", FakeTokenizer()).at("counters");
  const int64_t stuck = counters.at("dropped").at("repeated_token");
  EXPECT_GT(stuck, 2);
  EXPECT_EQ(counters.at("records_read"), 10);
  EXPECT_EQ(counters.at("records").get<int64_t>(), 10 - stuck);
  for (const Record& record : read_all(build.output)) EXPECT_EQ(record.tokens[0] % 2, 1);
}

TEST(TrajectoryBuilder, RefusesAnotherTokenizerOrModel) {
  const TemporaryFolder folder;
  const auto writer = create_dataset(folder.path() / "examples", {{"tokenizer", "other"}}, {});
  Record record;
  record.tokens = {1, 2};
  record.loss_mask = {0, 1};
  record.prompt_length = 1;
  writer->append(record);
  writer->finish({});
  const FakeLanguageModel model(fake());
  expect_user_error(
      [&] { build_records(trajectory_config(folder, "out"), model, "m", FakeTokenizer()); },
      {"another tokenizer"});
  fs::remove_all(folder.path() / "examples");
  write_examples(folder.path() / "examples", 3);
  build_records(trajectory_config(folder, "out"), model, "m", FakeTokenizer());
  expect_user_error(
      [&] { build_records(trajectory_config(folder, "out"), model, "m2", FakeTokenizer()); },
      {"model: \"m\" there, \"m2\" here"});
}

TEST(TrajectoryConfig, ReadsItsKeys) {
  ConfigReader reader = ConfigReader::parse(
      "{dataset: d, model: m, chat_template: c, output: o, device: cpu, dtype: bf16, seed: 7, "
      "batch_tokens: 64, threads: 3}",
      "trajectories");
  const auto config = read_settings<TrajectoryConfig>(reader);
  reader.finish();  // it knows all keys
  EXPECT_EQ(config.model, "m");
  EXPECT_EQ(config.chat_template, "c");
  EXPECT_EQ(config.output, "o");
  EXPECT_EQ(config.device + config.dtype, "cpubf16");
  EXPECT_EQ(config.seed, 7);
  EXPECT_EQ(config.batch_tokens, 64);
  EXPECT_EQ(config.threads, 3);
  ConfigReader lacking = ConfigReader::parse("{dataset: d, model: m}", "lacking");
  read_settings<TrajectoryConfig>(lacking);
  expect_user_error([&] { lacking.finish(); }, {"output", "missing"});
}

TEST(FindRepetition, Rules) {
  RepetitionConfig rules;
  EXPECT_EQ(find_repetition(TokenIds(9, 4), "fine", rules), "");
  EXPECT_EQ(find_repetition(TokenIds(10, 4), "fine", rules), "repeated_token");
  TokenIds cycle;
  for (TokenId i = 0; i < 24; ++i) cycle.push_back(i % 8);
  EXPECT_EQ(find_repetition(cycle, "fine", rules), "repeated_ngram");
  cycle.pop_back();
  EXPECT_EQ(find_repetition(cycle, "fine", rules), "");
  const TokenIds none{1};
  EXPECT_EQ(find_repetition(none, "I do not know. I do not know! i do not know", rules),
            "repeated_sentence");
  EXPECT_EQ(find_repetition(none, "I do not know. I do not know. Yes. Yes. Yes. Yes.", rules), "");
}

}  // namespace
}  // namespace predgen::data
