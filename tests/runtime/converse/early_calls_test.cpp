#include "runtime/converse/early_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/scheduled_calls.h"

namespace predgen {
namespace {

using act::Effects;
using testing::ElementsAre;
using testing::IsEmpty;

ToolCall look(const std::string& place) { return {"", "look", R"({"at": ")" + place + "\"}"}; }

/// A turn with tools that look, draw, and ask.
struct EarlyDesk {
  explicit EarlyDesk(const ToolRoundOptions& chosen = {}) : options(chosen) {
    calls.offered = {{.name = "look", .effects = Effects::kRead},
                     {.name = "draw", .effects = Effects::kIdempotent},
                     {.name = "spy", .effects = Effects::kRead, .asks = true}};
    calls.answer = [this](const auto&, const auto&) { return next; };
    early.begin_turn({}, 7);
  }
  void note(const std::vector<ToolCall>& drafted, int64_t num_kept = 1, size_t round = 0) {
    std::vector<DraftedCall> all;
    for (const ToolCall& call : drafted) all.push_back({call, canonical_call(call), num_kept});
    early.note(round, all);
  }
  std::optional<EarlyCalls::Taken> take(const ToolCall& call) {
    return early.take(calls.offered[0], call);
  }
  void pass(double seconds) { clock.advance(Seconds(seconds)); }

  const ToolRoundOptions options;
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  ScheduledCalls calls{clock};
  ScheduledCalls::Outcome next{.text = "seen", .seconds = 1};
  std::vector<std::string> lines;
  EarlyCalls early{calls, options, clock,
                   [this](const ToolEvent& event) { lines.push_back(event_line(event)); }};
};

TEST(EarlyCalls, BeginOnceLaterWordsHaveKeptThem) {
  EarlyDesk desk({.early_stable = 2});
  desk.note({look("sea")}, 0);
  desk.note({look("sea")}, 1);
  EXPECT_THAT(desk.calls.begun, IsEmpty());
  desk.note({look("sea")}, 2);
  desk.note({look("sea")}, 3);
  EXPECT_THAT(desk.calls.begun, ElementsAre(R"(look {"at": "sea"})"));
}

TEST(EarlyCalls, OnlyReadAndNeverAsk) {
  EarlyDesk desk;
  desk.note({{"", "draw", "{}"}});
  desk.note({{"", "spy", "{}"}});
  desk.note({{"", "gone", "{}"}});
  desk.note({{"", "draw", "{}"}, look("sea")});  // what it sees may be what is drawn
  EXPECT_THAT(desk.calls.begun, IsEmpty());
  desk.note({look("sea"), {"", "draw", "{}"}});
  EXPECT_EQ(desk.calls.begun.size(), 1u);
}

TEST(EarlyCalls, GiveTheirResultsAsMessages) {
  EarlyDesk desk;
  std::vector<ToolCall> calls{look("sea")};
  EXPECT_FALSE(desk.early.is_coming(calls));
  desk.note(calls);
  EXPECT_TRUE(desk.early.is_coming(calls));
  EXPECT_FALSE(desk.early.results(0, 0, calls));
  desk.early.wait(Seconds(5));
  EXPECT_DOUBLE_EQ(desk.clock.now().count(), 1);
  EXPECT_FALSE(desk.early.is_coming(calls));
  const auto results = desk.early.results(1, 2, calls);
  ASSERT_TRUE(results);
  EXPECT_EQ(results->messages.front().content, "seen");
  EXPECT_EQ(results->messages.front().tool_call_id, "call00009");
  EXPECT_EQ(calls[0].id, "call00009");
  EXPECT_FALSE(desk.early.results(4, 0, calls));  // too many rounds
  EXPECT_THAT(desk.lines, ElementsAre("look: running while you speak",
                                      "look: done after 1.00 s while you speak"));
}

TEST(EarlyCalls, AreTakenByTheSameCallHoweverItIsWritten) {
  EarlyDesk desk;
  desk.note({{"", "look", R"({"at": "sea", "for": 2})"}});
  desk.pass(1);
  const auto taken = desk.take({"", "look", R"({"for":2,"at":"sea"})"});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->result.text, "seen");
  EXPECT_EQ(desk.lines.back(), "look: kept, done after 1.00 s while you spoke");
  EXPECT_FALSE(desk.take({"", "look", R"({"for":2,"at":"sea"})"}));  // for one call
  EXPECT_EQ(desk.early.num_kept(), 1);
}

TEST(EarlyCalls, GoOnWhenTheyStillRun) {
  EarlyDesk desk;
  desk.note({look("sea")});
  desk.pass(0.4);
  const auto taken = desk.take(look("sea"));
  ASSERT_TRUE(taken && taken->running);
  EXPECT_EQ(taken->begun, Seconds(0));
  EXPECT_TRUE(taken->running->wait(Seconds(10)));
  EXPECT_DOUBLE_EQ(desk.clock.now().count(), 1);
  desk.early.end_rounds(9);
  EXPECT_EQ(desk.calls.num_alive, 1);
}

TEST(EarlyCalls, AreCancelledWhenTheDraftCallsThemNoMore) {
  EarlyDesk desk;
  desk.note({look("sea")});
  desk.note({look("sea"), look("lake")});
  desk.note({look("fish")}, 1, /*round=*/1);
  desk.pass(0.5);
  desk.note({look("lake")});
  EXPECT_EQ(desk.calls.num_alive, 1);  // the lake; what followed the other is gone with it
  EXPECT_THAT(desk.lines, testing::Contains("look: discarded after 0.50 s").Times(2));
  desk.pass(1);
  desk.note({});  // what has ended may be called again
  EXPECT_TRUE(desk.take(look("lake")));
  EXPECT_FALSE(desk.take(look("sea")));
}

TEST(EarlyCalls, AreSoManyAndRunSoLong) {
  EarlyDesk few({.early_calls = 1});
  few.note({look("sea"), look("lake")});
  EXPECT_EQ(few.calls.begun.size(), 1u);
  EXPECT_EQ(few.early.num_begun(), 1);
  EarlyDesk quick({.early_seconds = 1.5});
  quick.note({look("sea")});
  quick.pass(1);
  quick.note({look("lake")});
  quick.pass(0.5);
  quick.note({look("lake"), look("fish")});  // the time is used up
  EXPECT_EQ(quick.calls.begun.size(), 2u);
  EXPECT_EQ(quick.calls.num_alive, 0);
  EXPECT_FALSE(quick.take(look("lake")));
  EXPECT_TRUE(quick.take(look("sea")));
}

TEST(EarlyCalls, DoNotStandWhenTheyAreOld) {
  EarlyDesk desk({.early_seconds = 100, .early_age = 5});
  desk.note({look("sea")});
  desk.pass(5);
  desk.note({look("sea")});
  EXPECT_EQ(desk.calls.begun.size(), 1u);
  desk.pass(0.1);
  EXPECT_FALSE(desk.take(look("sea")));
  EXPECT_EQ(desk.lines.back(), "look: discarded after 5.00 s");
  desk.note({look("sea")});
  desk.pass(5.1);
  desk.note({look("sea")});  // is begun again
  EXPECT_EQ(desk.calls.begun.size(), 3u);
}

TEST(EarlyCalls, DoNotStandWhenNobodyAnsweredOrTheToolHasChanged) {
  using Status = act::ToolResult::Status;
  for (const Status status : {Status::kUnavailable, Status::kTimedOut, Status::kCancelled}) {
    EarlyDesk desk;
    desk.next.status = status;
    std::vector<ToolCall> calls{look("sea")};
    desk.note(calls);
    desk.pass(1);
    EXPECT_FALSE(desk.early.is_coming(calls));
    EXPECT_FALSE(desk.early.results(0, 0, calls));
    EXPECT_FALSE(desk.take(look("sea")));
  }
  EarlyDesk desk;
  desk.next.status = Status::kFailed;  // the tool's own word
  desk.note({look("sea"), look("lake")});
  desk.pass(1);
  EXPECT_TRUE(desk.take(look("sea")));
  desk.calls.offered[0].effects = Effects::kWrites;
  EXPECT_FALSE(desk.take(look("lake")));
}

TEST(EarlyCalls, AreDiscardedAtTheEnd) {
  EarlyDesk desk;
  desk.note({look("sea")});
  desk.note({look("fish")}, 1, /*round=*/1);
  desk.early.end_rounds(0);
  EXPECT_EQ(desk.calls.num_alive, 1);
  desk.early.end_rounds(1);
  EXPECT_EQ(desk.calls.num_alive, 0);
  EXPECT_EQ(desk.early.num_begun(), 2);
  EXPECT_EQ(desk.early.num_kept(), 0);
}

}  // namespace
}  // namespace predgen
