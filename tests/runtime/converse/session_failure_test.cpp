#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/stage.h"

namespace predgen {
namespace {

TEST(Session, ALostVoiceEndsItsTurnAndNoOther) {
  for (const char* moment : {"prepare", "say", "finish"}) {
    Stage stage({});
    const TurnResult first = stage.run(type_text("hello there", 600));
    stage.speaker.fails_at = moment;
    const TurnResult lost =
        stage.run({partial("my", 11), partial("my friend", 12), final_one("my friend is", 15)});
    ASSERT_TRUE(lost.error) << moment;
    EXPECT_EQ(lost.error->kind, TurnError::Kind::kVoice) << moment;
    EXPECT_EQ(lost.error->text, "the voice is lost") << moment;
    EXPECT_EQ(lost.prompt_text, "my friend is");
    EXPECT_EQ(stage.session.history().size(), 2u) << "as before the turn";
    EXPECT_FALSE(stage.speaker.gives_way) << moment;
    EXPECT_EQ(stage.speaker.num_cancelled, moment == std::string("prepare") ? 0 : 1)
        << moment << ": what was said of it is not heard in the next turn";
    stage.speaker.fails_at.clear();
    const size_t passes = stage.inner.pass_sizes.size();
    const TurnResult next = stage.run({final_one("two", 30)});
    EXPECT_FALSE(next.error);
    EXPECT_EQ(next.text, "Yes I can. Go on!");
    // Nothing of the lost turn is in the prompt, and what came before it is still cached.
    const TokenIds user = stage.tokenizer.render_chat({{.role = "user", .content = "two"}});
    EXPECT_EQ(next.prompt.size(), first.prompt.size() + first.answer.size() + user.size());
    EXPECT_EQ(stage.inner.pass_sizes[passes], static_cast<int64_t>(user.size()) + 1);
  }
}

TEST(Session, APassThatFailsEndsItsTurnAndLetsSynthesisGoOn) {
  bool broken = false;
  Stage stage({.next = [&](TokenSpan) -> TokenId {
    if (broken) throw Error("out of memory\nat a line of C++");
    return FakeTokenizer::kEnd;
  }});
  broken = true;
  const TurnResult failed = stage.run({partial("a", 1), final_one("a b", 2)});
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->kind, TurnError::Kind::kOther);
  EXPECT_EQ(failed.error->text, "out of memory");
  EXPECT_EQ(failed.events.back().kind, TurnEvent::Kind::kFailed);
  EXPECT_FALSE(stage.speaker.gives_way);
  broken = false;
  EXPECT_FALSE(stage.run({final_one("a b", 9)}).error);
}

TEST(Session, AFailedTurnLeavesNothingCached) {
  Stage stage({});
  const std::vector<Transcript> words{final_one("my friend", 1)};
  stage.speaker.fails_at = "say";
  EXPECT_TRUE(stage.run(words).error);
  stage.speaker.fails_at.clear();
  const size_t passes = stage.inner.pass_sizes.size();
  const TurnResult again = stage.run({final_one("my friend", 9)});
  EXPECT_EQ(stage.inner.pass_sizes[passes], static_cast<int64_t>(again.prompt.size()));
}

TEST(Session, ATurnIsStoppedFromOutside) {
  Stage stage({});
  std::stop_source stop;
  int64_t num_drafts = 0;
  TurnObserver observer;
  observer.on_draft = [&](const std::string&, size_t) {
    if (++num_drafts == 2) stop.request_stop();
  };
  ScheduledSource source({partial("hello", 1), final_one("hello there", 9)});
  EXPECT_THROW(stage.session.run_turn(source, observer, stop.get_token()), Interrupted);
  EXPECT_EQ(num_drafts, 2);
  EXPECT_EQ(stage.speaker.num_cancelled, 1) << "nothing more is heard";
  EXPECT_FALSE(stage.speaker.gives_way);
  EXPECT_TRUE(stage.session.history().empty()) << "nothing was said";
  EXPECT_EQ(stage.run({final_one("two", 20)}).text, "Yes I can. Go on!");
}

TEST(Session, AnAnswerThatIsStoppedLeavesWhatWasSaid) {
  Stage stage({});
  std::stop_source stop;
  std::string shown;
  TurnObserver observer;
  observer.on_text = [&](const std::string& text) {
    shown += text;
    stop.request_stop();  // the draft is confirmed, the rest not made
  };
  ScheduledSource source({partial("hello", 1), final_one("my friend", 9)});
  EXPECT_THROW(stage.session.run_turn(source, observer, stop.get_token()), Interrupted);
  const std::vector<Message> history = stage.session.history();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].content, "my friend");
  EXPECT_EQ(history[1].content, shown);
  EXPECT_EQ(shown, "Yes I can. Go");
  const TurnResult next = stage.run({final_one("two", 20)});
  EXPECT_THAT(stage.tokenizer.decode(next.prompt, /*keep_special=*/true),
              testing::HasSubstr("my friend<end><assistant>Yes I can. Go<end><user>two<end>"));
}

}  // namespace
}  // namespace predgen
