#include "runtime/converse/session_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/pass_table.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SessionOptions, WithoutDraftsThePresetDoesNotHelpToDecode) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  const SessionConfig usual = make_session_config({}, engine);
  EXPECT_EQ(usual.turn.work, InputTimeWork::kSpeculate);
  EXPECT_THAT(usual.generator.sources, ElementsAre("ngram"));
  const SessionConfig off = make_session_config({.verifier = "off"}, engine);
  EXPECT_EQ(off.turn.work, InputTimeWork::kCascade);
  EXPECT_THAT(off.generator.sources, IsEmpty());
  EXPECT_TRUE(usual.generator.costs.is_known());
  EXPECT_FALSE(off.generator.costs.is_known());  // which takes time, for nothing
  const SessionConfig preemptive = make_session_config({.preempts = true}, engine);
  EXPECT_EQ(preemptive.turn.work, InputTimeWork::kPreempt);
  EXPECT_THAT(preemptive.generator.sources, IsEmpty());
  EXPECT_FALSE(preemptive.generator.costs.is_known());
}

TEST(SessionOptions, DraftsOfSlowModelsYieldToTheRecogniser) {
  EXPECT_TRUE(should_yield_to_words(pass_table({0.02, 0.03})));
  EXPECT_FALSE(should_yield_to_words(pass_table({0.005, 0.03})));
  EXPECT_FALSE(should_yield_to_words({})) << "not known";
}

TEST(SessionOptions, AVoiceBeginsWithAClauseUnlessThePaperIsFollowed) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  const auto speaks_clauses = [&](const SessionOptions& options) {
    return make_session_config(options, engine).turn.speaks_clauses;
  };
  EXPECT_FALSE(speaks_clauses({}));
  EXPECT_TRUE(speaks_clauses({.has_voice = true}));
  EXPECT_FALSE(speaks_clauses({.preset = "paper", .has_voice = true}));
}

}  // namespace
}  // namespace predgen
