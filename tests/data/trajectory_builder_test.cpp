#include "data/trajectory_builder.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "data/hdf5_store.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
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

Json build_records(const TrajectoryConfig& config, const LanguageModel& model,
                   const std::string& hash, const Tokenizer& tokenizer) {
  Engine engine = borrowing_engine(model);
  return build_trajectories(config, engine, hash, tokenizer);
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

TrajectoryConfig config(const TemporaryFolder& folder, const std::string& output) {
  TrajectoryConfig result;
  result.dataset = folder.path() / "examples";
  result.output = folder.path() / output;
  result.block_size = 4;
  result.max_answer_tokens = 12;
  result.batch_size = 3;
  result.records_per_flush = 5;
  return result;
}

FakeLanguageModel::Options fake() { return {.vocab_size = 256}; }

std::vector<Record> read_all(const fs::path& folder) {
  const auto dataset = open_dataset(folder);
  std::vector<Record> records;
  for (int64_t i = 0; i < dataset->size(); ++i) records.push_back(dataset->read(i));
  return records;
}

TEST(TrajectoryBuilder, ResumesToTheSameBytes) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 18);
  const FakeTokenizer tokenizer;
  const TrajectoryConfig whole = config(folder, "whole"), killed = config(folder, "killed");
  const FakeLanguageModel model(fake());
  build_records(whole, model, "m", tokenizer);
  EXPECT_THROW(build_records(killed, DyingModel(fake(), model.num_passes / 2), "m", tokenizer),
               Error);
  EXPECT_FALSE(fs::exists(killed.output / "manifest.json"));
  EXPECT_TRUE(fs::exists(killed.output / "shard-00000.h5"));
  write_file(killed.output / "shard-00009.h5.tmp", "half");
  const FakeLanguageModel again(fake());
  build_records(killed, again, "m", tokenizer);
  EXPECT_LT(again.num_passes, model.num_passes);
  for (const auto& entry : fs::directory_iterator(whole.output)) {
    EXPECT_EQ(read_file(entry.path()), read_file(killed.output / entry.path().filename()))
        << entry.path();
  }
  const FakeLanguageModel unused(fake());
  build_records(killed, unused, "m", tokenizer);
  EXPECT_EQ(unused.num_passes, 0);
}

TEST(TrajectoryBuilder, BatchSizeChangesNothing) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 11);
  TrajectoryConfig three = config(folder, "three"), one = config(folder, "one");
  one.batch_size = 1;
  const FakeLanguageModel model(fake());
  build_records(three, model, "m", FakeTokenizer());
  build_records(one, model, "m", FakeTokenizer());
  EXPECT_EQ(read_file(three.output / "shard-00000.h5"), read_file(one.output / "shard-00000.h5"));
}

TEST(TrajectoryBuilder, LabelsOfTheDatasetOrOfTheFixedPoint) {
  const TemporaryFolder folder;
  write_examples(folder.path() / "examples", 6);
  TrajectoryConfig dataset = config(folder, "dataset"), own = config(folder, "own");
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
  TrajectoryConfig build = config(folder, "out");
  build.records_per_flush = 3;
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
  expect_user_error([&] { build_records(config(folder, "out"), model, "m", FakeTokenizer()); },
                    {"another tokenizer"});
  fs::remove_all(folder.path() / "examples");
  write_examples(folder.path() / "examples", 3);
  build_records(config(folder, "out"), model, "m", FakeTokenizer());
  expect_user_error([&] { build_records(config(folder, "out"), model, "m2", FakeTokenizer()); },
                    {"model: \"m\" there, \"m2\" here"});
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
}  // namespace predgen
