#include "evaluate/training_overlap.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

TEST(TrainingOverlap, LooksForTheUsersWords) {
  const TemporaryFolder folder;
  write_file(folder / "train-1.jsonl",
             R"({"conversation":[{"role":"user","content":"Book a table."},)"
             R"({"role":"assistant","content":"Which place?"}]})"
             "\n");
  write_file(folder / "train-2.jsonl", R"({"question":"What is 1 + 2?","answer":"#### 3"})");
  TurnSet set;
  set.turns = {{"a", {}, "Book a table.", {}},
               {"b", {}, "book a TABLE", {}},
               {"c", {}, "Which place?", {}},  // the assistant said it
               {"d", {}, "Question: What is 1 + 2?\nAnswer:", {}}};
  set.turns[3].question = "What is 1 + 2?";
  const auto overlap = find_training_overlap(set, {(folder / "train-*.jsonl").string()});
  using enum data::PromptSet::Overlap;
  EXPECT_EQ(overlap, (std::vector{kExact, kNormalised, kNone, kExact}));
  EXPECT_EQ(count_training_overlap(overlap), Json::parse(R"({"exact":2,"normalised":1,"none":1})"));
}

TEST(TrainingOverlap, IsUnknownWithoutTrainingData) {
  TurnSet set;
  set.turns = {{"a", {}, "Book a table.", {}}};
  EXPECT_TRUE(find_training_overlap(set, {}).empty());
  EXPECT_TRUE(count_training_overlap({}).is_null());
  expect_user_error([&] { find_training_overlap(set, {"absent-*.jsonl"}); }, {"absent-*.jsonl"});
}

}  // namespace
}  // namespace predgen::evaluate
