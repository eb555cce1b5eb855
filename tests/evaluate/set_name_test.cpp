#include "evaluate/set_name.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

TEST(DescribeSet, ThePapersSetsHaveItsNames) {
  EXPECT_EQ(describe_set("turns: {kind: gsm8k, file: a/b.jsonl}"),
            Json::parse(R"({"kind":"gsm8k","file":"a/b.jsonl","paper":"gsm8k","name":"GSM8K"})"));
  EXPECT_EQ(describe_set("turns: {kind: prompts, file: x/lmsys.parquet}")["name"], "Lmsys");
}

TEST(DescribeSet, OthersAreCalledByTheirFile) {
  const Json set = describe_set("turns: {kind: conversations, file: data/sgd/talk.jsonl}\nx: 1");
  EXPECT_EQ(set["paper"], "");
  EXPECT_EQ(set["name"], "sgd/talk.jsonl");
  EXPECT_EQ(describe_set("turns: {file: talk.jsonl}")["name"], "talk.jsonl");
}

TEST(DescribeSet, WhatCannotBeReadIsAnEvaluation) {
  for (const char* config : {"", "</pre>: [", "turns: 3"}) {
    EXPECT_EQ(describe_set(config)["name"], "An evaluation") << config;
  }
}

}  // namespace
}  // namespace predgen::evaluate
