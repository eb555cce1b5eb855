#include "runtime/converse/idle_work.h"

#include <gtest/gtest.h>

#include "runtime/generate/autoregressive_generator.h"
#include "runtime/speculate/greedy_verifier.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen {
namespace {

/// The user says "hi all", and is answered in two tokens and the end.
struct Idle {
  explicit Idle(const SpeculationConfig& config)
      : speculator(engine, verifier, generator, 256, config) {
    speculator.update(rendered.ids, "hi", draft, {});
    model.num_passes = 0;
  }
  History::Prompt render(const std::string& text) {
    ++renders;
    return history.prompt(text, {.context_length = 256, .answer_length = 16});
  }
  static TokenId next(TokenSpan history) {
    switch (history.back()) {
      case 'i':
        return FakeTokenizer::kFirstWord;
      case FakeTokenizer::kAssistant:
        return 'Y';
      case 'Y':
        return '.';
      default:
        return FakeTokenizer::kEnd;
    }
  }

  FakeTokenizer tokenizer{{" all"}};
  FakeLanguageModel model{{.vocab_size = tokenizer.vocab_size(), .next = next}};
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  AutoregressiveGenerator generator{engine};
  InputTimeSpeculator speculator;
  History history{tokenizer, ""};
  int64_t renders = 0;
  GenerationConfig draft{.max_new_tokens = 16, .stop_tokens = tokenizer.stop_tokens()};
  const History::Prompt rendered = render("hi");
  IdleWork work{speculator, tokenizer, SplitMode::kPaper,
                [this](const std::string& text) { return render(text); }};
};

TEST(IdleWork, AnswersTheNextWordsOnceAndRendersNoPromptTwice) {
  Idle idle({.num_candidates = 2, .next_words = 4});
  idle.renders = 0;
  EXPECT_EQ(idle.work.answer_next_words("hi", idle.rendered, idle.draft), 2);  // "Y."
  EXPECT_EQ(idle.renders, 2);  // with a word to find the end of the user's own, and with the next
  EXPECT_EQ(idle.model.num_passes, 2 + 2);
  EXPECT_EQ(idle.work.answer_next_words("hi", idle.rendered, idle.draft), 0);
  EXPECT_EQ(idle.renders, 2);
}

TEST(IdleWork, WaitsForNewerWordsAndIsTakenUpAgain) {
  Idle idle({.num_candidates = 2, .next_words = 4});
  GenerationConfig stopped = idle.draft;
  stopped.should_stop = [] { return true; };
  EXPECT_EQ(idle.work.answer_next_words("hi", idle.rendered, stopped), 0);
  EXPECT_EQ(idle.model.num_passes, 0);
  int64_t asked = 0;  // before it begins, in the two passes of " all", before the answer and in it
  stopped.should_stop = [&] { return ++asked > 4; };
  EXPECT_EQ(idle.work.answer_next_words("hi", idle.rendered, stopped), 1);
  EXPECT_EQ(idle.work.answer_next_words("hi", idle.rendered, idle.draft), 2);
}

}  // namespace
}  // namespace predgen
