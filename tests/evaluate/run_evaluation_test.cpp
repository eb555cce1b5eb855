#include "evaluate/run_evaluation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/waiting.h"

namespace predgen::evaluate {
namespace {

TEST(Journal, KeepsWhatWasDone) {
  const TemporaryFolder folder;
  const Json value{{"text", "two\nlines"}, {"mean", 0.1}};
  Journal(folder / "j", "x", false).append("a", value);
  Journal again(folder / "j", "x", false);
  EXPECT_EQ(again.find("a"), value);
  EXPECT_EQ(again.find("b"), std::nullopt);
  again.remove();
  EXPECT_FALSE(std::filesystem::exists(folder / "j"));
}

TEST(Journal, DropsATornLastLine) {
  const TemporaryFolder folder;
  {
    Journal journal(folder / "j", "x", false);
    journal.append("a", 1);
    journal.append("b", 2);
  }
  const std::string whole = read_file(folder / "j");
  write_file(folder / "j", whole.substr(0, whole.size() - 3));
  Journal journal(folder / "j", "x", false);
  EXPECT_EQ(journal.find("a"), Json(1));
  EXPECT_EQ(journal.find("b"), std::nullopt);
  journal.append("b", 2);
  EXPECT_EQ(read_file(folder / "j"), whole);
}

TEST(Journal, OfAnotherRunIsRefusedUntilItIsDropped) {
  const TemporaryFolder folder;
  Journal(folder / "j", "x", false).append("a", 1);
  expect_user_error([&] { Journal(folder / "j", "y", false); }, {"unfinished", "--restart"});
  EXPECT_EQ(Journal(folder / "j", "x", false).find("a"), Json(1));
  EXPECT_EQ(Journal(folder / "j", "y", true).find("a"), std::nullopt);
}

/// Seven turns, of which the third continues the second.
struct Conversations : testing::Test {
  Conversations() {
    for (int i = 0; i < 7; ++i) {
      set.turns.push_back({.id = std::to_string(i),
                           .history = {},
                           .prompt_text = "p",
                           .recorded = {},
                           .continues = i == 2});
    }
  }

  /// Later conversations are through sooner; turn 5 fails.
  RunConversation worker() {
    ++num_workers;
    return [this](size_t begin, size_t end) {
      if (begin < 3) take(std::chrono::milliseconds(5));
      ++num_runs;
      EvalRun run;
      for (size_t i = begin; i < end; ++i) {
        if (i == 5) {
          run.failed.push_back({i, "greedy", "too long"});
          continue;
        }
        EvalRow& row = run.rows.emplace_back();
        row.turn_index = i;
        row.method = "greedy";
        row.result.metrics.ttfs = 0.1 / static_cast<double>(i + 1);
      }
      if (begin == fails_at) throw Error("lost");
      return run;
    };
  }

  Json run(const std::string& file, int64_t workers) {
    Journal journal(folder / file, "x", false);
    num_done = 0;
    return run_conversations(
        set, "r", workers, [this] { return worker(); }, journal,
        [this](size_t turns) { num_done += turns; });
  }

  const TemporaryFolder folder;
  TurnSet set;
  size_t fails_at = 99, num_done = 0;
  std::atomic<int> num_runs = 0, num_workers = 0;
};

TEST_F(Conversations, OneWorkerOrSeveralFindTheSame) {
  const Json one = run("one", 1);
  EXPECT_EQ(num_workers, 1);
  EXPECT_EQ(num_runs, 6);  // turn 2 belongs to turn 1
  EXPECT_EQ(num_done, 7u);
  EXPECT_EQ(one["rows"].size(), 6u);
  EXPECT_EQ(one["failed"][0]["id"], "5");
  EXPECT_EQ(run("three", 3).dump(), one.dump());
  EXPECT_EQ(num_workers, 4);
}

TEST_F(Conversations, WhatTheJournalHasIsNotRunAgain) {
  const Json whole = run("whole", 1);
  fails_at = 4;
  EXPECT_THROW(run("part", 1), Error);
  fails_at = 99;
  num_runs = 0;
  const auto count_done = [&](const std::string& name) {
    return count_done_turns(set, name, Journal(folder / "part", "x", false));
  };
  EXPECT_EQ(count_done("r"), 4u);
  EXPECT_EQ(count_done("another cost"), 0u);
  EXPECT_EQ(run("part", 2).dump(), whole.dump());
  EXPECT_EQ(num_runs, 3);   // turns 4 to 6
  EXPECT_EQ(num_done, 3u);  // those that the journal had are no work of this run
  EXPECT_EQ(count_done("r"), 7u);
  num_workers = 0;
  run("part", 2);
  EXPECT_EQ(num_workers, 0);
  EXPECT_EQ(num_done, 0u);
}

TEST_F(Conversations, OneThatFailsEndsTheRun) {
  fails_at = 0;
  EXPECT_THROW(run("failing", 3), Error);
}

TEST_F(Conversations, WithoutAnAnswerThereIsNothingToReport) {
  const auto nothing = [] {
    return [](size_t begin, size_t) { return EvalRun{{}, {{begin, "baseline", "too long"}}}; };
  };
  Journal journal(folder / "none", "x", false);
  expect_user_error([&] { run_conversations(set, "r", 2, nothing, journal, [](size_t) {}); },
                    {"every turn failed", "turn 0", "baseline", "too long"});
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

}  // namespace
}  // namespace predgen::evaluate
