#include "data/trajectory_builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "data/hdf5_store.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

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
