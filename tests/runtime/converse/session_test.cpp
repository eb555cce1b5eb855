#include "runtime/converse/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hear/transcripts/typed_line_source.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/stage.h"

namespace predgen {
namespace {

TEST(Session, CascadeDoesNothingBeforeTheFinalEvent) {
  Stage stage({.work = InputTimeWork::kCascade});
  const TurnResult result = stage.run(type_text("hello there", 600));
  EXPECT_EQ(result.text, "Yes I can. Go on!");
  EXPECT_EQ(result.first_sentence, "Yes I can.");
  EXPECT_EQ(result.first_sentence_tokens, 4);
  EXPECT_EQ(result.answer.back(), FakeTokenizer::kEnd);
  const TurnMetrics& metrics = result.metrics;
  EXPECT_NEAR(*metrics.ttfs, 4 * kPass, 1e-9);
  EXPECT_NEAR(*metrics.ttfs_paper, 4 * kPass, 1e-9);
  EXPECT_EQ(metrics.nfe_to_first_sentence, 4);
  EXPECT_NEAR(*metrics.audio_latency, 4 * kPass + 0.2, 1e-9);
  EXPECT_EQ(*metrics.lead_time, 0);
  EXPECT_EQ(metrics.speculative_nfe, 0);
  EXPECT_EQ(metrics.total_nfe, 8);
  EXPECT_FALSE(metrics.first_sentence_kept);
  EXPECT_TRUE(stage.speaker.all_prepared[0].empty());
}

TEST(Session, KeptFirstSentenceCostsOnePass) {
  Stage stage({});
  const TurnResult result = stage.run(type_text("hello there", 600));  // 0.6 s and 1.1 s
  const TurnMetrics& metrics = result.metrics;
  EXPECT_EQ(result.text, "Yes I can. Go on!");
  EXPECT_TRUE(metrics.first_sentence_kept);
  EXPECT_NEAR(*metrics.ttfs, kPass, 1e-9);
  EXPECT_EQ(metrics.nfe_to_first_sentence, 1);
  EXPECT_NEAR(*metrics.audio_latency, kPass, 1e-9);  // the buffer was ready
  EXPECT_NEAR(*metrics.lead_time, 1.1 - (0.6 + 4 * kPass + 0.2), 1e-9);
  EXPECT_EQ(metrics.speculative_nfe, 4);
  EXPECT_EQ(metrics.total_nfe, 4 + 1 + 3);  // then " on", "!" and the stop token
  EXPECT_EQ(metrics.spec_tokens_drafted, 4);
  EXPECT_EQ(metrics.spec_tokens_accepted, 4);
  EXPECT_EQ(metrics.spec_tokens_wasted, 0);
}

TEST(Session, FinalOfAVerifiedTextCostsNothing) {
  Stage stage({});
  const TurnResult result = stage.run({partial("hello", 1), final_one("hello", 2)});
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
  EXPECT_EQ(*result.metrics.ttfs, 0);
  EXPECT_TRUE(result.metrics.first_sentence_kept);
}

TEST(Session, WaitingForThePassInFlightCounts) {
  Stage stage({});
  // Passes end at 1.027 and 1.054; the final one arrives between them.
  const TurnResult result = stage.run({partial("hello", 1), final_one("hello there", 1.04)});
  EXPECT_EQ(result.metrics.speculative_nfe, 2);
  // Verify: two tokens and the bonus at 1.081; the full stop at 1.108.
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 2);
  EXPECT_NEAR(*result.metrics.ttfs, 1.108 - 1.04, 1e-9);
  EXPECT_NEAR(*result.metrics.ttfs_paper, 2 * kPass, 1e-9);
  EXPECT_FALSE(result.metrics.first_sentence_kept);
}

TEST(Session, NewerTranscriptsAreSeenWithinOnePass) {
  Stage stage({});
  const TurnResult result = stage.run(
      {partial("a", 1), partial("a b", 1.01), partial("a b c", 1.02), final_one("a b c d", 5)});
  std::vector<std::string> heard;
  for (const TurnEvent& event : result.events) {
    if (event.kind == TurnEvent::Kind::kTranscript) heard.push_back(event.text);
  }
  EXPECT_EQ(heard, (std::vector<std::string>{"a", "a b c"}));  // the middle one was outdated
}

TEST(Session, WrongDraftIsNeitherSaidNorShownNorStored) {
  Stage stage({.answer = [](const std::string& user) {
    return user.find("there") == std::string::npos ? "No." : "Yes I can. Go on!";
  }});
  std::string shown, drafts;
  TurnObserver observer;
  observer.on_text = [&](const std::string& text) { shown += text; };
  observer.on_draft = [&](const std::string& text, size_t) { drafts += text; };
  const TurnResult result = stage.run(type_text("hello there", 600), observer);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 4);
  EXPECT_EQ(result.metrics.spec_tokens_wasted, result.metrics.spec_tokens_drafted);
  EXPECT_EQ(shown, "Yes I can. Go on!");
  EXPECT_NE(drafts.find("No."), std::string::npos);
  ASSERT_EQ(stage.speaker.all_prepared[0].size(), 1u);
  EXPECT_EQ(stage.speaker.all_prepared[0][0].second, "No.");
  ASSERT_EQ(stage.speaker.all_said[0].size(), 2u);
  EXPECT_EQ(stage.speaker.all_said[0][0].second, "Yes I can.");
  EXPECT_EQ(stage.speaker.all_said[0][1].second, "Go on!");
  EXPECT_GE(stage.speaker.all_said[0][0].first.count(), 1.1);
}

TEST(Session, TopKIsRelaxedInTheFirstSentenceOnly) {
  // Every token is among the 1000 likeliest: what is heard last changes nothing in the first
  // sentence, and everything after it. The draft has a token of the second one: the second
  // verification adds it.
  Stage stage({.verifier = "topk",
               .answer =
                   [](const std::string& user) {
                     const bool changed = user.find("my") != std::string::npos;
                     return changed ? "No. No well" : "Yes I can. Go on!";
                   },
               .top_k = 1000});
  const TurnResult result =
      stage.run({partial("hello", 1), partial("hello there", 2), final_one("hello there my", 3)});
  EXPECT_EQ(result.metrics.spec_tokens_drafted, 5);
  EXPECT_EQ(result.metrics.spec_tokens_accepted, 4);
  EXPECT_EQ(result.first_sentence, "Yes I can.");
  EXPECT_EQ(result.text.find("Go"), std::string::npos) << result.text;
}

TEST(Session, PresetsChangeTheWorkAndNotTheText) {
  // A word is taken back, and with it comes back the answer of before.
  const auto run = [](const std::string& preset) {
    Stage stage({.preset = preset, .answer = [](const std::string& user) {
                   return user.find("my") == std::string::npos ? "Yes I can. Go on!" : "No well.";
                 }});
    const TurnResult result = stage.run({partial("hello", 1), partial("hello my", 2),
                                         partial("hello my", 3), final_one("hello", 4)});
    EXPECT_EQ(result.text, "Yes I can. Go on!") << preset;
    return result.metrics;
  };
  const TurnMetrics usual = run("default"), economy = run("economy"), eager = run("eager");
  EXPECT_EQ(run("").nfe_to_first_sentence, 4);
  EXPECT_EQ(usual.nfe_to_first_sentence, 2);  // the rest of the draft that failed
  EXPECT_EQ(eager.nfe_to_first_sentence, 1);
  EXPECT_TRUE(eager.first_sentence_kept);
  EXPECT_LT(economy.nfe_to_first_sentence, 4);
  EXPECT_LE(economy.speculative_nfe, usual.speculative_nfe);
  EXPECT_GT(eager.spec_tokens_drafted, usual.spec_tokens_drafted);  // branches
  expect_user_error([] { find_preset("lavish"); },
                    {"lavish", "default, paper, economy, eager, auto"});
}

TEST(Session, OtherAnswersAreVerifiedWhereTheirTokensAreCheap) {
  // A word is taken back; the answer of before has seven tokens, of which the draft has none.
  const auto passes = [](const std::vector<double>& seconds) {
    Stage stage({.answer =
                     [](const std::string& user) {
                       return user.find("my") == std::string::npos ? "Yes I can. Go on!"
                                                                   : "No well.";
                     },
                 .speculation = SpeculationConfig{.num_candidates = 4},
                 .costs = pass_table(seconds)});
    const TurnResult result =
        stage.run({partial("hello", 1), partial("hello my", 2), final_one("hello", 4)});
    EXPECT_EQ(result.text, "Yes I can. Go on!");
    return result.metrics.nfe_to_first_sentence;
  };
  EXPECT_EQ(passes({}), 1);            // not known
  EXPECT_EQ(passes({1.0, 1.0}), 1);    // nothing
  EXPECT_EQ(passes({1.0, 1.125}), 1);  // eight for a step
  EXPECT_EQ(passes({1.0, 1.5}), 2);    // two: the rest is generated
  EXPECT_EQ(passes({1.0, 3.0}), 4);
}

TEST(Session, ADraftIsVerifiedInPartsWhereTokensAreDear) {
  const auto run = [](const std::vector<double>& seconds) {
    Stage stage({.preset = "default", .costs = pass_table(seconds)});
    const TurnMetrics metrics = stage.run({partial("hello", 1), final_one("hello you", 4)}).metrics;
    EXPECT_TRUE(metrics.first_sentence_kept);
    return metrics.nfe_to_first_sentence;
  };
  EXPECT_EQ(run({}), 1);
  EXPECT_EQ(run({1.0, 1.5}), 2);  // a token, and the one after it, in each
  EXPECT_EQ(run({1.0, 2.0}), 4);
}

TEST(Session, WordsThatChangeNothingLetBranchesGoOn) {
  const auto run = [](std::vector<Transcript> transcripts) {
    Stage stage({.speculation = SpeculationConfig{.num_candidates = 4, .num_branches = 3}});
    return stage.run(std::move(transcripts)).metrics;
  };
  const TurnMetrics at_once = run({partial("hello", 1), final_one("hello there", 3)});
  // The draft takes four passes, the branches up to four more: newer words come amidst these.
  for (int passes = 5; passes < 8; ++passes) {
    const double time = 1 + (passes - 0.5) * kPass;
    const TurnMetrics twice =
        run({partial("hello", 1), partial("hello", time), final_one("hello there", 3)});
    EXPECT_EQ(twice.speculative_nfe, at_once.speculative_nfe) << passes;
    EXPECT_EQ(twice.spec_tokens_drafted, at_once.spec_tokens_drafted) << passes;
  }
  EXPECT_GE(at_once.speculative_nfe, 4 + 3);
  // Another prompt has branches of its own.
  const TurnMetrics other =
      run({partial("hello", 1), partial("hello my", 2), final_one("hello there", 3)});
  EXPECT_GE(other.spec_tokens_drafted, at_once.spec_tokens_drafted + 1 + 3);
}

TEST(Session, SampledTextIsThatOfPlainSampling) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto run = [&](InputTimeWork work, const std::string& decoder,
                         const std::string& preset) {
      Stage stage({.work = work,
                   .decoder = decoder,
                   .preset = preset,
                   .sampling = SamplingConfig{.temperature = 0.2, .seed = seed}});
      std::string text;
      for (const char* last : {"hello my", "hello there"}) {
        text += "|" + stage.run({partial("hello", 1), final_one(last, 3)}).text;
      }
      return text;
    };
    const std::string plain = run(InputTimeWork::kCascade, "ar", "");
    EXPECT_EQ(run(InputTimeWork::kSpeculate, "ar", "default"), plain) << seed;
    EXPECT_EQ(run(InputTimeWork::kSpeculate, "ar", "eager"), plain) << seed;
    EXPECT_EQ(run(InputTimeWork::kSpeculate, "ar", "auto"), plain) << seed;
    EXPECT_EQ(run(InputTimeWork::kSpeculate, "jacobi", "eager"), plain) << seed;
    texts.insert(plain);
  }
  EXPECT_GT(texts.size(), 4u);
  expect_user_error([] { Stage({.verifier = "topk", .sampling = SamplingConfig{}}); },
                    {"sampling", "greedy", "topk"});
}

TEST(Session, ReflectionKeepsWhatTheModelJudgesToFit) {
  const auto run = [](const std::string& judgement, int64_t judged_sentences = 1) {
    Stage stage({.verifier = "reflection",
                 .answer = [&](const std::string& user) -> std::string {
                   if (user.find("Partial Answer: ") != std::string::npos) return judgement;
                   const bool changed = user.find("my") != std::string::npos;
                   return changed ? "No well. Go on!" : "Yes I can. Go on!";
                 },
                 .judged_sentences = judged_sentences});
    return stage.run({partial("hello", 1), final_one("hello my", 3)});
  };
  const TurnResult kept = run("Yes");
  EXPECT_EQ(kept.first_sentence, "Yes I can.");
  EXPECT_TRUE(kept.metrics.first_sentence_kept);
  EXPECT_EQ(kept.metrics.nfe_to_first_sentence, 1);  // judged in the pass that verifies
  const TurnResult refused = run("No");
  EXPECT_EQ(refused.text, "No well. Go on!");
  EXPECT_EQ(refused.metrics.spec_tokens_accepted, 0);
  EXPECT_EQ(refused.metrics.nfe_to_first_sentence, 3);  // the judging one gave a token, too
  const TurnResult both = run("Yes", 2);
  EXPECT_EQ(both.text, "Yes I can. Go on!");
  EXPECT_EQ(both.metrics.spec_tokens_accepted, 7);
}

TEST(Session, DraftStopsAtItsLimit) {
  Stage stage({.max_draft_tokens = 2});
  const TurnResult result = stage.run({partial("hello", 1), final_one("hello there", 9)});
  EXPECT_EQ(result.metrics.spec_tokens_drafted, 2);
  EXPECT_EQ(result.metrics.speculative_nfe, 2);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 2);
  EXPECT_TRUE(stage.speaker.all_prepared[0].empty());  // half a sentence is none
}

TEST(Session, DraftsGrowByRoundsLikeThePapers) {
  const auto drafts = [](const TalkSetup& setup) {
    Stage stage(setup);
    std::vector<std::string> texts;
    const TurnResult result = stage.run(
        {partial("a", 1), partial("a b", 2), partial("a b c", 3), final_one("a b c d", 4)});
    for (const TurnEvent& event : result.events) {
      if (event.kind == TurnEvent::Kind::kDraft) texts.push_back(event.text);
    }
    EXPECT_EQ(result.text, "Yes I can well Go on!");
    return texts;
  };
  const auto answer = [](const std::string&) { return "Yes I can well Go on!"; };
  using Texts = std::vector<std::string>;
  for (const char* decoder : {"ar", "jacobi"}) {
    EXPECT_EQ(drafts({.decoder = decoder,
                      .answer = answer,
                      .first_round_tokens = 3,
                      .later_round_tokens = 1}),
              (Texts{"Yes I can", "Yes I can well", "Yes I can well Go"}));
    EXPECT_EQ(drafts({.decoder = decoder,
                      .answer = answer,
                      .max_draft_tokens = 4,
                      .first_round_tokens = 2,
                      .later_round_tokens = 4}),
              (Texts{"Yes I", "Yes I can well", "Yes I can well"}));
    EXPECT_EQ(drafts({.decoder = decoder, .answer = answer, .first_round_tokens = 2}),
              (Texts{"Yes I", "Yes I can well Go on!", "Yes I can well Go on!"}));
  }
  EXPECT_THROW(drafts({.later_round_tokens = -1}), UserError);
  EXPECT_EQ(drafts({.answer = answer, .turn_draft_tokens = 4}), (Texts{"Yes I can well"}));
  EXPECT_EQ(drafts({.answer = answer, .first_round_tokens = 2, .turn_draft_tokens = 3}),
            (Texts{"Yes I", "Yes I can"}));
  EXPECT_THROW(drafts({.turn_draft_tokens = -1}), UserError);
}

/// The texts are those of any other budget; what is drafted is no more, whatever the preset.
TEST(Session, ATurnsDraftsHaveABudget) {
  for (const char* preset : {"default", "eager"}) {
    for (const int64_t budget : {0, 1, 5, 15}) {
      Stage stage({.preset = preset, .next = hashed_word, .turn_draft_tokens = budget}),
          plain({.work = InputTimeWork::kCascade, .next = hashed_word});
      int64_t most = 0;
      for (uint64_t seed = 0; seed < 8; ++seed) {
        const std::vector<Transcript> words = random_transcripts(seed, 1e9, 0);
        const auto later = [&](const Clock& clock) {
          std::vector<Transcript> moved = words;
          for (Transcript& heard : moved) heard.time += clock.now();
          return moved;
        };
        const TurnResult result = stage.run(later(stage.clock));
        EXPECT_EQ(result.answer, plain.run(later(plain.clock)).answer);
        most = std::max(most, result.metrics.spec_tokens_drafted);
      }
      if (budget > 0) {
        EXPECT_LE(most, budget);
        EXPECT_GE(most, std::min<int64_t>(budget, 10)) << "and no less";
      } else {
        EXPECT_GT(most, 15);
      }
    }
  }
}

TEST(Session, PrefillReusesThePromptOnly) {
  Stage stage({.work = InputTimeWork::kPrefill});
  const TurnResult result = stage.run(type_text("hello my friend", 600));
  EXPECT_EQ(result.metrics.speculative_nfe, 2);  // two words were complete before the end
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 4);
  EXPECT_EQ(result.metrics.spec_tokens_drafted, 0);
  // The final pass runs what the last partial lacked: " friend", <end> and <assistant>.
  EXPECT_EQ(stage.inner.pass_sizes[2], 7 + 2);
}

TEST(Session, EmptyAnswerHasNoTimes) {
  Stage stage({.answer = [](const std::string&) { return ""; }});
  const TurnResult result = stage.run(type_text("hello there", 600));
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.answer, (TokenIds{FakeTokenizer::kEnd}));
  EXPECT_FALSE(result.metrics.ttfs || result.metrics.audio_latency || result.metrics.lead_time ||
               result.metrics.nfe_to_first_sentence);
  EXPECT_TRUE(stage.speaker.all_said[0].empty());
}

TEST(Session, NaturalSentencesWaitForOneMoreTokenInEveryMethod) {
  for (const auto work : {InputTimeWork::kCascade, InputTimeWork::kSpeculate}) {
    Stage stage({.work = work, .split_mode = SplitMode::kNatural});
    const TurnResult result = stage.run(type_text("hello there", 600));
    EXPECT_EQ(result.first_sentence_tokens, 4);
    EXPECT_EQ(result.metrics.nfe_to_first_sentence, work == InputTimeWork::kCascade ? 5 : 1);
  }
}

TEST(Session, HistoryKeepsGeneratedIdsAndTheirCache) {
  for (const auto work : {InputTimeWork::kCascade, InputTimeWork::kSpeculate}) {
    Stage stage({.work = work});
    const TurnResult first = stage.run({final_one("one", 1)});
    const size_t passes = stage.inner.pass_sizes.size();
    const TurnResult second = stage.run({final_one("two", 9)});
    TokenIds expected = first.prompt;
    expected.insert(expected.end(), first.answer.begin(), first.answer.end());
    const TokenIds user = stage.tokenizer.render_chat({{.role = "user", .content = "two"}});
    expected.insert(expected.end(), user.begin(), user.end());
    EXPECT_EQ(second.prompt, expected);
    // Only the stop token, which was never run, and the new message.
    EXPECT_EQ(stage.inner.pass_sizes[passes], static_cast<int64_t>(user.size()) + 1);
    EXPECT_EQ(second.metrics.nfe_to_first_sentence, 4);
  }
}

TEST(Session, SystemPromptAndHistoryArePrefilled) {
  Stage stage({.system_prompt = system_prompt_text("table3")});
  stage.session.set_history(
      {{.role = "user", .content = "hi"}, {.role = "assistant", .content = "No."}});
  ASSERT_EQ(stage.inner.pass_sizes.size(), 1u);
  const TurnResult result = stage.run({final_one("one", 1)});
  EXPECT_EQ(result.prompt.front(), FakeTokenizer::kSystem);
  EXPECT_EQ(stage.inner.pass_sizes[0] + stage.inner.pass_sizes[1],
            static_cast<int64_t>(result.prompt.size()));
  EXPECT_NE(stage.tokenizer.decode(result.prompt).find("Do not complain"), std::string::npos);
  EXPECT_EQ(system_prompt_text("none"), "");
  EXPECT_EQ(system_prompt_text("Be brief."), "Be brief.");
}

TEST(Session, ADraftModelHasTheHistoryBeforeTheTurn) {
  for (const char* decoder : {"ar", "jacobi"}) {
    const FakeTokenizer tokenizer(kWords);
    const FakeLanguageModel smaller({.vocab_size = tokenizer.vocab_size()});
    Engine draft = borrowing_engine(smaller);
    Stage stage({.decoder = decoder, .draft_model = &draft});
    const std::vector<Message> history{{.role = "user", .content = "hi"},
                                       {.role = "assistant", .content = "No."}};
    const auto length = std::ssize(tokenizer.render_chat(history, false));
    stage.session.set_history(history);
    EXPECT_EQ(smaller.pass_sizes, (std::vector<int64_t>{length})) << decoder;
    const TurnResult result = stage.run({final_one("one", 1)});
    EXPECT_EQ(result.metrics.draft_model_total_nfe, draft.num_forward_passes() - 1);
    ASSERT_GT(smaller.pass_sizes.size(), 1u);
    // The prompt's new tokens, the last one of the history once more, and what was found by then.
    EXPECT_LE(smaller.pass_sizes[1], std::ssize(result.prompt) - length + 1 + 16) << decoder;
    EXPECT_LT(smaller.pass_sizes[1], std::ssize(result.prompt)) << decoder;

    smaller.pass_sizes.clear();
    stage.session.set_generator(stage.session.config().generator);  // a new one
    ASSERT_EQ(smaller.pass_sizes.size(), 1u);
    EXPECT_GT(smaller.pass_sizes[0], std::ssize(result.prompt));
  }
}

TEST(Session, VerifierAndGeneratorChangeBetweenTurns) {
  Stage stage({});
  stage.run(type_text("hello there", 600));
  expect_user_error([&] { stage.session.set_verifier({.name = "magic"}); }, {"magic", "greedy"});
  expect_user_error([&] { stage.session.set_generator({.name = "beam"}); }, {"beam", "jacobi"});
  EXPECT_EQ(stage.session.config().verifier.name, "greedy");
  stage.session.set_verifier({.name = "topk", .top_k = 2});
  stage.session.set_generator({.name = "jacobi"});
  stage.session.set_work(InputTimeWork::kCascade);
  const TurnResult result = stage.run(type_text("my friend", 600));
  EXPECT_EQ(result.text, "Yes I can. Go on!");
  EXPECT_EQ(result.metrics.speculative_nfe, 0);
}

TEST(Session, ALongPromptLooksUpBetweenItsPassesAndKeepsTheDraft) {
  Stage stage({.pass_tokens = 4, .speech_delay = 0});
  stage.run({partial("hello", 1), final_one("hello", 2)});
  // 40 characters take 11 passes of 27 ms; new words come after two of them.
  const std::string words(40, 'w');
  const TurnResult result = stage.run({partial("hi", 10), partial(words, 11),
                                       partial("hi there", 11.05), final_one("hi there", 13)});
  EXPECT_EQ(result.events[2].text, words);
  EXPECT_EQ(result.events[3].kind, TurnEvent::Kind::kTranscript)
      << "no draft for the words that were taken back";
  EXPECT_NEAR(result.events[4].time.count(), 11 + 4 * kPass + 4 * kPass, 0.1);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
  EXPECT_EQ(result.text, "Yes I can. Go on!");
  // Four for "hi", which were verified, not lost, and the one that this pass adds.
  EXPECT_EQ(result.metrics.spec_tokens_drafted, 5);
}

TEST(Session, TheObserverHearsWhatOfTheDraftIsKeptAndWhenASentenceIsWhole) {
  Stage stage({});
  std::vector<std::pair<std::string, size_t>> drafts;
  std::vector<std::string> sentences;
  TurnObserver observer;
  observer.on_draft = [&](const std::string& text, size_t accepted) {
    drafts.emplace_back(text, accepted);
  };
  observer.on_first_sentence = [&](const std::string& text) { sentences.push_back(text); };
  stage.run({partial("hello", 1), partial("hello there", 2), final_one("hello there my", 3)},
            observer);
  ASSERT_FALSE(drafts.empty());
  EXPECT_EQ(drafts.front(), (std::pair<std::string, size_t>("Yes", 3)));
  EXPECT_EQ(drafts.back(), (std::pair<std::string, size_t>("Yes I can. Go", 13)));
  EXPECT_EQ(sentences, (std::vector<std::string>{"Yes I can.", "Yes I can."}));
}

TEST(Session, TheLastTypedWordIsDraftedOnWhileNoKeyComes) {
  Stage stage({});
  TypedLineSource source(stage.clock);
  source.edit("hello there", 11);
  stage.clock.sleep_until(Seconds(0.3));
  TurnObserver observer;
  observer.on_first_sentence = [&](const std::string&) { source.commit("hello there"); };
  const TurnResult result = stage.session.run_turn(source, observer).value();
  EXPECT_EQ(result.text, "Yes I can. Go on!");
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
  EXPECT_TRUE(result.metrics.first_sentence_kept);
}

/// However often a client says the same.
TEST(Session, EventsAreBoundedAndHaveTextsForATraceOnly) {
  const auto events = [](size_t trace_bytes) {
    Stage stage({.trace_bytes = trace_bytes});
    std::vector<Transcript> transcripts;
    for (int i = 0; i < 3000; ++i) transcripts.push_back(partial("hello", 1 + i));
    transcripts.push_back(final_one("hello", 9000));
    return stage.run(std::move(transcripts)).events;
  };
  const auto num_bytes = [](const std::vector<TurnEvent>& all) {
    size_t count = 0;
    for (const TurnEvent& event : all) count += event.text.size();
    return count;
  };
  const std::vector<TurnEvent> plain = events(0), traced = events(100);
  EXPECT_LE(plain.size(), 4096u + 5);
  EXPECT_EQ(plain.size(), traced.size());
  EXPECT_EQ(num_bytes(plain), 0u);
  EXPECT_GT(num_bytes(traced), 80u);
  EXPECT_LE(num_bytes(traced), 100u);
  EXPECT_EQ(plain.back().kind, TurnEvent::Kind::kDone);
  EXPECT_EQ(std::ranges::count(plain, TurnEvent::Kind::kFinal, &TurnEvent::kind), 1);
}

TEST(Session, AnAnswerThatIsStuckEndsAtTheSamePlaceInEveryMethod) {
  const auto run = [](InputTimeWork work, const std::string& decoder, bool may_loop) {
    TalkSetup setup{.work = work, .decoder = decoder, .answer = [](const std::string& user) {
                      std::string text = "Yes I can.";
                      for (int i = 0; i < 60; ++i) text += " well";
                      return user == "two" ? "No." : text;
                    }};
    if (!may_loop) {
      setup.is_stuck = [](TokenSpan answer, const std::string& text) {
        EXPECT_EQ(answer.size() % 16, 0u);
        return text.ends_with(" well well");
      };
    }
    Stage stage(setup);
    TurnResult result = stage.run({partial("o", 1), final_one("one", 3)});
    EXPECT_EQ(stage.session.history().back().content, result.text);
    EXPECT_EQ(stage.run({final_one("two", 9)}).stop_reason, StopReason::kStopToken);
    return result;
  };
  for (const char* decoder : {"ar", "jacobi"}) {
    for (const auto work : {InputTimeWork::kCascade, InputTimeWork::kSpeculate}) {
      const TurnResult ended = run(work, decoder, /*may_loop=*/false);
      EXPECT_EQ(ended.stop_reason, StopReason::kRepetition) << decoder;
      EXPECT_EQ(ended.answer.size(), 16u) << decoder;
      const TurnResult whole = run(work, decoder, /*may_loop=*/true);
      EXPECT_EQ(whole.stop_reason, StopReason::kMaxNewTokens) << decoder;
      EXPECT_EQ(whole.answer.size(), 40u) << decoder;
      EXPECT_TRUE(whole.text.starts_with(ended.text)) << decoder;
    }
  }
}

TEST(Session, AnAnswerIsStuckWhateverElseThePassOfADraftFound) {
  const auto reason = [](InputTimeWork work, const std::string& answer) {
    TalkSetup setup{.work = work, .answer = [&](const std::string&) { return answer; }};
    setup.is_stuck = [](TokenSpan, const std::string&) { return true; };
    Stage stage(setup);
    const TurnResult result = stage.run({partial("one", 1), final_one("one", 3)});
    EXPECT_EQ(result.answer.size(), 16u);
    return result.stop_reason;
  };
  std::string text = "Yes";
  for (int i = 0; i < 14; ++i) text += " well";
  for (const auto work : {InputTimeWork::kCascade, InputTimeWork::kSpeculate}) {
    EXPECT_EQ(reason(work, text), StopReason::kStopToken);  // its end is the 16th token
    EXPECT_EQ(reason(work, text + " well"), StopReason::kRepetition);
    EXPECT_EQ(reason(work, text + " well well well"), StopReason::kRepetition);
  }
}

TEST(Session, AnAnswerThatIsCutEndsBeforeAnUnfinishedCharacter) {
  for (const bool repeats : {false, true}) {
    const std::string letters(repeats ? 15 : 39, 'x');  // then a character of two tokens
    TalkSetup setup{.answer = [&](const std::string&) { return letters + "éééééé"; }};
    if (repeats) setup.is_stuck = [](TokenSpan, const std::string&) { return true; };
    const TurnResult result = Stage(setup).run({final_one("one", 1)});
    EXPECT_EQ(result.answer.size(), letters.size() + 1);
    EXPECT_EQ(result.text, letters);
    EXPECT_EQ(result.first_sentence, letters);
  }
}

TEST(Session, EndedSourceGivesNoTurn) {
  Stage stage({});
  ScheduledSource source({});
  EXPECT_FALSE(stage.session.run_turn(source));
}

TEST(Session, GreedySpeculationNeverChangesTheAnswer) {
  int64_t saved = 0, kept = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const auto split_mode = seed % 2 ? SplitMode::kNatural : SplitMode::kPaper;
    const auto transcripts = random_transcripts(seed, 1e9, 0);
    Stage plain({.work = InputTimeWork::kCascade, .split_mode = split_mode, .next = hashed_word});
    const TurnResult expected = plain.run(transcripts);
    for (const char* decoder : {"ar", "jacobi"}) {
      Stage stage({.split_mode = split_mode, .decoder = decoder, .next = hashed_word});
      const TurnResult got = stage.run(transcripts);
      ASSERT_EQ(got.answer, expected.answer) << seed << decoder;
      EXPECT_EQ(got.text, expected.text);
      EXPECT_EQ(got.first_sentence, expected.first_sentence);
      EXPECT_EQ(stage.speaker.all_said[0].size(), plain.speaker.all_said[0].size());
      if (!expected.metrics.ttfs) continue;
      EXPECT_LE(*got.metrics.nfe_to_first_sentence, *expected.metrics.nfe_to_first_sentence);
      saved += *expected.metrics.nfe_to_first_sentence - *got.metrics.nfe_to_first_sentence;
      kept += got.metrics.first_sentence_kept;
    }
  }
  EXPECT_GT(saved, 50);
  EXPECT_GT(kept, 20);
}

/// What happens before the inputs differ is the same whatever comes later.
void expect_no_look_ahead(InputTimeWork work) {
  int64_t compared = 0, different = 0, drafted = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const double change_from = 0.1 + 0.01 * static_cast<double>(seed);
    std::vector<TurnEvent> events[2];
    FakeSpeaker::Timed prepared[2];
    for (uint64_t variant = 0; variant < 2; ++variant) {
      Stage stage({.work = work, .next = hashed_word});
      const auto transcripts = random_transcripts(seed, change_from, variant);
      events[variant] = stage.run(with_pauses(transcripts, seed)).events;
      prepared[variant] = stage.speaker.all_prepared[0];
    }
    const auto early = [&](std::vector<TurnEvent>& all) {
      std::vector<std::string> lines;
      for (const TurnEvent& event : all) {
        if (event.time.count() >= change_from) break;
        lines.push_back(
            fmt::format("{:.9f} {} {}", event.time.count(), to_string(event.kind), event.text));
      }
      return lines;
    };
    EXPECT_EQ(early(events[0]), early(events[1])) << seed;
    const auto early_voice = [&](const FakeSpeaker::Timed& all) {
      FakeSpeaker::Timed some;
      for (const auto& entry : all) {
        if (entry.first.count() < change_from) some.push_back(entry);
      }
      return some;
    };
    EXPECT_EQ(early_voice(prepared[0]), early_voice(prepared[1])) << seed;
    compared += static_cast<int64_t>(early(events[0]).size());
    different += events[0].back().text != events[1].back().text;
    drafted += std::ranges::count(events[0], TurnEvent::Kind::kDraft, &TurnEvent::kind);
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(different, 10);  // the change really changed something later
  EXPECT_GT(drafted, 30);
}

TEST(Session, NothingLooksAhead) { expect_no_look_ahead(InputTimeWork::kSpeculate); }

TEST(Session, AnAnswerBegunAtAPauseDoesNotLookAhead) {
  expect_no_look_ahead(InputTimeWork::kPreempt);
}

}  // namespace
}  // namespace predgen
