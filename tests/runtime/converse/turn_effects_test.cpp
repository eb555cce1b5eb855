#include "runtime/converse/turn_effects.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

using act::Effects;
using act::ToolResult;
using Status = ToolResult::Status;

const ToolResult kDone{Status::kDone, "The server's words"};
const ToolResult kFailed{Status::kFailed, "Error: the server's words"};
const ToolResult kLost{Status::kUnavailable, "Error: the server's words"};
const ToolResult kOpen{Status::kTimedOut, "Error: the server's words", /*may_have_happened=*/true};

/// What is said of calls of a tool in these rooms.
std::string failure_of(const std::vector<std::pair<std::string, ToolResult>>& calls,
                       Effects effects = Effects::kIdempotent) {
  const act::Tool tool{.name = "turn_on", .server = "my_home", .effects = effects};
  TurnEffects all;
  for (const auto& [room, result] : calls) {
    all.add({.id = "", .name = "turn_on", .arguments = R"({"in_room": ")" + room + "\"}"}, tool,
            result);
  }
  return all.failure();
}

TEST(TurnEffects, NothingIsSaidOfWhatWorkedOrOnlyReads) {
  EXPECT_EQ(failure_of({}), "");
  EXPECT_EQ(failure_of({{"red", kDone}, {"blue", kDone}}), "");
  EXPECT_EQ(failure_of({{"red", kFailed}}, Effects::kRead), "");
}

TEST(TurnEffects, WhatFailedIsSaidInOurOwnWords) {
  EXPECT_EQ(failure_of({{"red", kFailed}}), "Sorry, that did not work.");
  EXPECT_EQ(failure_of({{"red", kFailed}, {"blue", kFailed}}, Effects::kDestructive),
            "Sorry, that did not work.");
  EXPECT_EQ(failure_of({{"red", kLost}}),
            "Sorry, that was not done: there is no connection to my home.");
  EXPECT_EQ(failure_of({{"red", kOpen}}),
            "Sorry, I got no answer, so I do not know whether that was done.");
}

TEST(TurnEffects, WhatDiffersIsListed) {
  EXPECT_EQ(failure_of({{"red", kFailed}, {"blue", kDone}}),
            "Sorry, not all of that worked. Done: turn on, with in room blue. Not done: turn on, "
            "with in room red.");
  EXPECT_EQ(failure_of({{"red", kOpen}, {"blue", kLost}, {"green", kLost}}),
            "Sorry, not all of that worked. Not done: turn on, with in room blue; turn on, with in "
            "room green. I do not know about this: turn on, with in room red.");
  const std::string much = failure_of({{std::string(4000, 'x'), kFailed}, {"blue", kDone}});
  EXPECT_LT(much.size(), 600u);
}

TEST(TurnEffects, AToolThatHasGoneHasNotDoneIt) {
  TurnEffects all;
  all.add_missing({.id = "", .name = "turn_on", .arguments = "{}"});
  EXPECT_EQ(all.failure(), "Sorry, that did not work.");
  all.clear();
  EXPECT_EQ(all.failure(), "");
}

}  // namespace
}  // namespace predgen
