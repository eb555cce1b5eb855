#include "hear/transcripts/typed_line_source.h"

#include <gtest/gtest.h>

#include <future>

#include "core/error.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {
namespace {

class TypedLine : public testing::Test {
 protected:
  /// Types `keys` at the end of the line; the texts of the transcripts that this made.
  std::vector<std::string> type(const std::string& keys) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < keys.size();) {
      size_t length = 1;
      while (i + length < keys.size() && (keys[i + length] & 0xC0) == 0x80) ++length;
      line_ += keys.substr(i, length);
      i += length;
      source_.edit(line_, line_.size());
      if (const auto newest = source_.latest(clock_.now()); newest && newest->revision > seen_) {
        seen_ = newest->revision;
        texts.push_back(newest->text);
      }
    }
    return texts;
  }
  std::string latest() { return source_.latest(clock_.now())->text; }

  ManualClock clock_;
  TypedLineSource source_{clock_};
  std::string line_;
  int64_t seen_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(TypedLine, WordIsWithheldUntilWhiteSpaceFollows) {
  EXPECT_EQ(type(" book a  table"), (Texts{"book", "book a"}));
  clock_.set(3);
  source_.commit(line_);
  const auto final = source_.wait_newer(seen_, clock_);
  EXPECT_EQ(final->text, "book a  table");
  EXPECT_TRUE(final->is_final);
  EXPECT_EQ(final->time, Seconds(3));
  EXPECT_FALSE(source_.latest(clock_.now()));  // the turn is over
}

TEST_F(TypedLine, LastWordCountsAfterAPause) {
  EXPECT_EQ(type("about Ber"), (Texts{"about"}));
  clock_.set(0.1);
  EXPECT_EQ(type("lin"), (Texts{}));
  clock_.set(0.25);
  EXPECT_EQ(latest(), "about");
  clock_.set(0.31);
  EXPECT_EQ(latest(), "about Berlin");
  EXPECT_EQ(source_.latest(clock_.now())->time, Seconds(0.1) + Seconds(0.2));
  const auto heard = source_.wait_newer(0, clock_);
  EXPECT_EQ(heard->text, "about Berlin");
  EXPECT_EQ(type(" "), (Texts{"about Berlin"}));  // seen just now, and no news
  EXPECT_EQ(source_.latest(clock_.now())->revision, heard->revision);
  source_.commit(line_);
  EXPECT_EQ(source_.wait_newer(heard->revision, clock_)->text, "about Berlin");
}

TEST_F(TypedLine, LineIsStableAfterAPauseWhetherItsLastWordIsWholeOrNot) {
  for (const std::string line : {"about ", "about Ber"}) {
    ManualClock clock;
    TypedLineSource source(clock);
    source.edit(line, line.size());
    const auto typed = source.wait_newer(0, clock);
    EXPECT_FALSE(typed->is_stable);
    clock.set(0.3);
    const auto stable = source.wait_newer(typed->revision, clock);
    EXPECT_TRUE(stable->is_stable);
    EXPECT_EQ(stable->text, line == "about " ? "about" : line);
    EXPECT_EQ(stable->time, Seconds(0.2));
  }
}

TEST_F(TypedLine, WordThatGoesOnAfterAPauseTakesNothingBack) {
  type("about Ber");
  clock_.set(1);
  EXPECT_EQ(latest(), "about Ber");
  EXPECT_EQ(type("lin"), (Texts{"about Ber"}));
  EXPECT_EQ(type(" an"), (Texts{"about Berlin"}));
  source_.edit("about B", 7);  // but what is deleted is
  EXPECT_EQ(latest(), "about");
}

TEST_F(TypedLine, PauseOfALineThatIsGoneIsNone) {
  type("sent");
  source_.commit("sent");
  EXPECT_TRUE(source_.wait_newer(0, clock_)->is_final);
  line_.clear();
  type("/command");
  source_.break_turn();
  clock_.set(1);
  EXPECT_FALSE(source_.latest(clock_.now()));
}

TEST_F(TypedLine, SentencesEndWithAWord) {
  EXPECT_EQ(type("Who is it?"), (Texts{"Who", "Who is", "Who is it?"}));
}

/// By a real clock: the wait ends by itself.
TEST(TypedLineSource, WaitsForThePause) {
  SystemClock clock{std::stop_token()};
  TypedLineSource source(clock);
  source.edit("about Berlin", 12);
  const auto first = source.wait_newer(0, clock);
  EXPECT_EQ(first->text, "about");
  EXPECT_EQ(source.wait_newer(first->revision, clock)->text, "about Berlin");
}

TEST_F(TypedLine, CharactersWithoutSpacesBetweenThemAreWords) {
  EXPECT_EQ(type("你好 gpu卡"), (Texts{"你", "你好", "你好 gpu卡"}));
}

TEST_F(TypedLine, WordFurtherInFrontIsWithheldUntilTheCursorLeavesIt) {
  type("what is teh weather ");
  source_.edit("what is t weather ", 9);
  source_.edit("what is the weather ", 11);
  EXPECT_EQ(latest(), "what is teh weather");
  source_.edit("what is the weather ", 12);
  EXPECT_EQ(latest(), "what is the weather");
  const int64_t revision = source_.latest(clock_.now())->revision;
  source_.edit("what is the weather ", 20);  // the cursor alone makes no news
  EXPECT_EQ(source_.latest(clock_.now())->revision, revision);
}

TEST_F(TypedLine, ClearedLineIsNews) {
  type("hello you ");
  source_.edit("", 0);
  EXPECT_EQ(source_.latest(clock_.now())->text, "");
  EXPECT_GT(source_.latest(clock_.now())->revision, seen_);
}

TEST_F(TypedLine, TurnsStayApart) {
  type("one ");
  source_.commit("one");
  line_.clear();
  source_.edit("two three", 9);
  EXPECT_EQ(latest(), "one");  // never past a final one that was not taken
  EXPECT_EQ(source_.wait_newer(0, clock_)->text, "one");
  const auto next = source_.wait_newer(0, clock_);
  EXPECT_EQ(next->text, "two");
  EXPECT_FALSE(next->is_final);
  EXPECT_EQ(latest(), "two");  // still the newest
  source_.commit("two three");
  EXPECT_EQ(source_.wait_newer(next->revision, clock_)->text, "two three");
}

TEST_F(TypedLine, NothingIsSeenBeforeItsTime) {
  clock_.set(5);
  type("late ");
  EXPECT_FALSE(source_.latest(Seconds(4)));
  EXPECT_EQ(source_.latest(Seconds(5))->text, "late");
}

TEST_F(TypedLine, BreakComesAfterWhatWasSent) {
  source_.commit("sent");
  source_.edit("half a ", 7);
  source_.break_turn();
  source_.commit("next");
  EXPECT_EQ(source_.wait_newer(0, clock_)->text, "sent");
  EXPECT_FALSE(source_.wait_newer(0, clock_));
  EXPECT_EQ(source_.wait_newer(0, clock_)->text, "next");
}

TEST_F(TypedLine, ClosedForGood) {
  source_.commit("sent");
  type("not sent ");
  source_.close();
  source_.commit("too late");
  EXPECT_EQ(source_.wait_newer(0, clock_)->text, "sent");
  EXPECT_FALSE(source_.wait_newer(0, clock_));
  EXPECT_FALSE(source_.wait_newer(0, clock_));
}

// The other thread may wait before or after the event; both must end.
TEST_F(TypedLine, WakesWhoWaits) {
  const auto wait = [&](int64_t revision) {
    return std::async(std::launch::async,
                      [&, revision] { return source_.wait_newer(revision, clock_); });
  };
  auto partial = wait(0);
  type("word ");
  const int64_t revision = partial.get()->revision;
  auto broken = wait(revision);
  source_.break_turn();  // takes one event away and brings one
  EXPECT_FALSE(broken.get());
  auto closed = wait(revision);
  source_.close();
  EXPECT_FALSE(closed.get());
}

TEST(TypedLineSource, StopEndsTheWait) {
  ManualClock clock;
  std::stop_source stop;
  TypedLineSource source(clock, stop.get_token());
  auto waiting = std::async(std::launch::async, [&] { return source.wait_newer(0, clock); });
  stop.request_stop();
  EXPECT_THROW(waiting.get(), Interrupted);
  EXPECT_THROW(source.latest(Seconds(0)), Interrupted);
}

}  // namespace
}  // namespace predgen
