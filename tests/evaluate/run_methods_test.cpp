#include "evaluate/run_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hear/transcripts/scheduled_source.h"
#include "tests/evaluate/run_turns.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen::evaluate {
namespace {

// Answers start with a fixed phrase whose words depend on the prompt only now and then, as real
// first sentences do.
TokenId next_token(TokenSpan history) {
  static const TokenIds phrase{'S', 'u', 'r', 'e', ' ', 0,   ' ', 'i', 's', ' ',
                               'o', 'k', '.', ' ', 'D', 'o', 'n', 'e', '.', FakeTokenizer::kEnd};
  size_t begin = history.size();
  while (begin > 0 && history[begin - 1] != FakeTokenizer::kAssistant) --begin;
  const size_t place = history.size() - begin;
  if (place >= phrase.size()) return FakeTokenizer::kEnd;
  if (phrase[place] != 0) return phrase[place];
  // One letter of the sentence follows from the user's last letters.
  return 'a' + (history[begin - 3] + history[begin - 4]) % 3;
}

struct Bench {
  FakeTokenizer tokenizer;
  FakeLanguageModel base{{.vocab_size = 260, .next = next_token}};
  FakeLanguageModel adapted{{.vocab_size = 260, .next = next_token}};
  EvalConfig config;
  RunCost cost{.costs = PassCosts::given(Seconds(0.027))};
  TurnSet turns;

  Bench() {
    config.methods = {"baseline", "prefill", "greedy", "top3", "cllm", "cllm_ar", "cllm_jacobi"};
    config.turn.max_new_tokens = 32;
    for (const char* prompt : {"book me a table for two people", "what is the weather like",
                               "please play some jazz music now"}) {
      turns.turns.push_back({prompt, {{"user", "hi there"}, {"assistant", "Hello."}}, prompt, {}});
    }
  }
  EvalRun run() {
    Engine engine = borrowing_engine(base), other = borrowing_engine(adapted);
    return run_methods(config, cost, {.tokenizer = tokenizer, .base = engine, .adapted = &other},
                       turns.turns);
  }
  Json report() { return report_of(config.methods, turns, run()); }
};

TEST(RunMethods, SpeculationKeepsTheTextAndSavesPasses) {
  const Json report = Bench().report();
  for (const char* method : {"prefill", "greedy", "cllm", "cllm_jacobi"}) {
    EXPECT_EQ(report["comparisons"][method]["equal_text"]["count"], 3) << method;
  }
  EXPECT_GT(report["comparisons"]["greedy"]["nfe_saving_paper"]["ratio"].get<double>(), 1.3);
  EXPECT_GT(report["comparisons"]["cllm_jacobi"]["pass_saving"]["ratio"].get<double>(), 1.0);
  EXPECT_NEAR(report["comparisons"]["prefill"]["nfe_saving"]["ratio"].get<double>(), 1.0, 0.15);
  for (const Json& row : report["turns"]) {
    EXPECT_NE(row["text"].get<std::string>().find("Sure "), std::string::npos);
    EXPECT_EQ(row["first_sentence_tokens"], 13) << row["method"];
  }
}

TEST(RunMethods, BaselineDoesNothingAheadAndIsCostedByThePass) {
  Bench bench;
  const std::vector<EvalRow> rows = bench.run().rows;
  ASSERT_EQ(rows.size(), 3u * bench.config.methods.size());
  const TurnMetrics& baseline = rows[0].result.metrics;
  EXPECT_EQ(rows[0].method, "baseline");
  EXPECT_EQ(baseline.speculative_nfe, 0);
  ASSERT_TRUE(baseline.ttfs && baseline.nfe_to_first_sentence && baseline.audio_latency);
  EXPECT_NEAR(*baseline.ttfs, 0.027 * static_cast<double>(*baseline.nfe_to_first_sentence), 1e-9);
  EXPECT_NEAR(*baseline.audio_latency, *baseline.ttfs + 0.1, 1e-9);
  // 13 tokens of the sentence and the blank that confirms it, the first from the prompt's pass.
  EXPECT_EQ(*baseline.nfe_to_first_sentence, 14);
}

TEST(RunMethods, APassCostsItsTokensAndNoneOfTheHistory) {
  Bench bench;
  bench.config.methods = {"baseline"};
  bench.cost.costs = PassCosts::given(Seconds(0.02), Seconds(0.001));
  const EvalTurn& turn = bench.turns.turns.front();
  // Role, text and end of the user's message, and the assistant's role; the history is cached.
  const auto prompt = static_cast<double>(turn.prompt_text.size()) + 3;
  const TurnResult result = bench.run().rows[0].result;
  EXPECT_NEAR(*result.metrics.ttfs, 14 * 0.02 + (prompt + 13) * 0.001, 1e-9);
  // It is there all the same: "hi there", "Hello.", and two tokens about each.
  EXPECT_EQ(static_cast<double>(result.prompt.size()), prompt + 8 + 6 + 4);
}

TEST(RunMethods, EveryMethodIsWarmedUpByTheWallClock) {
  for (const char* method : {"baseline", "prefill", "greedy"}) {
    Bench bench;
    bench.config.methods = {method};
    const int64_t num_turns = static_cast<int64_t>(bench.turns.turns.size());
    for (size_t i = 1; i < bench.turns.turns.size(); ++i) {
      bench.turns.turns[i] = bench.turns.turns.front();  // each takes as many passes
    }
    bench.run();
    const int64_t costed = bench.base.num_passes;
    bench.base.num_passes = 0;
    bench.cost.costs = {};
    Engine engine = borrowing_engine(bench.base);
    const MethodRunner runner(bench.config, bench.cost,
                              {.tokenizer = bench.tokenizer, .base = engine},
                              bench.turns.turns.front());
    EXPECT_NEAR(static_cast<double>(bench.base.num_passes),
                static_cast<double>(costed) / static_cast<double>(num_turns), 3)
        << method;
  }
}

TEST(RunMethods, DraftsAreAsWideAsTheirCostAllows) {
  Bench bench;
  bench.config.methods = {"baseline+draft_model"};
  const FakeLanguageModel smaller({.vocab_size = 260, .next = next_token});
  Engine engine = borrowing_engine(bench.base), draft = borrowing_engine(smaller);
  const auto passes = [&](double seconds_per_token) {
    bench.cost.costs = PassCosts::given(Seconds(0.02), Seconds(seconds_per_token))
                           .with_draft_model(PassCosts::given(Seconds(0)));
    const EvalRun run = run_methods(bench.config, bench.cost,
                                    {.tokenizer = bench.tokenizer, .base = engine, .draft = &draft},
                                    bench.turns.turns);
    return run.rows[0].result.metrics.nfe_to_first_sentence;
  };
  EXPECT_LT(passes(0), 4);
  EXPECT_EQ(passes(0.2), 14);  // a token is dearer than the pass that checks it: none is drafted
}

TEST(RunMethods, TopKIsRelaxedInTheFirstSentenceOnly) {
  // What follows the first sentence depends on the user's last letters, too.
  const auto next = [](TokenSpan history) -> TokenId {
    const TokenId token = next_token(history);
    if (token != ' ' || history.back() != '.') return token;
    size_t begin = history.size();
    while (history[begin - 1] != FakeTokenizer::kAssistant) --begin;
    return (history[begin - 3] + history[begin - 4]) % 2 == 0 ? ' ' : '\n';
  };
  Bench bench;
  bench.config.methods = {"top1000", "top1000+jacobi"};  // every token is among so many
  const FakeLanguageModel model({.vocab_size = 260, .next = next});
  Engine engine = borrowing_engine(model);
  const EvalRun run = run_methods(
      bench.config, bench.cost, {.tokenizer = bench.tokenizer, .base = engine}, bench.turns.turns);
  int64_t num_relaxed = 0;
  for (const EvalRow& row : run.rows) {
    TokenIds history = row.result.prompt;
    for (size_t i = 0; i < row.result.answer.size(); ++i) {
      const bool in_first = std::cmp_less(i, row.result.first_sentence_tokens);
      const bool likeliest = row.result.answer[i] == next(history);
      EXPECT_TRUE(in_first || likeliest) << row.method << ' ' << row.turn_index << ' ' << i;
      num_relaxed += in_first && !likeliest ? 1 : 0;
      history.push_back(row.result.answer[i]);
    }
  }
  EXPECT_GT(num_relaxed, 0);
}

TEST(RunMethods, TheWaitOfASpokenTurnCountsFromTheVoice) {
  Bench bench;
  for (EvalTurn& turn : bench.turns.turns) {
    turn.recorded = type_text(turn.prompt_text, 600);
    turn.voice =
        RecordedVoice{.said = turn.prompt_text, .ended = turn.recorded.back().time - Seconds(0.25)};
  }
  bench.turns.turns[0].voice->is_cut_off = true;
  bench.config.methods = {"baseline", "greedy", "greedy+wait=1"};
  const EvalRun run = bench.run();
  for (const Json& row : report_of(bench.config.methods, bench.turns, run)["turns"]) {
    const double wait = row["method"] == "greedy+wait=1" ? 1 : 0.25;
    EXPECT_NEAR(row["wait_from_last_word"].get<double>(), wait + row["ttfs"].get<double>(), 1e-9);
    ASSERT_EQ(row["voice_to_voice"].is_null(), row["turn"] == 0);
    if (row["turn"] == 0) continue;
    EXPECT_NEAR(row["voice_to_voice"].get<double>(), wait + row["audio_latency"].get<double>(),
                1e-9);
  }
}

TEST(RunMethods, AnAnswerBegunAtAPausePaysWithTheWaitForTheEnd) {
  Bench bench;
  bench.config.methods = {"baseline",      "preemptive",        "baseline+wait=1",
                          "greedy+wait=1", "preemptive+wait=1", "preemptive_tts+wait=1"};
  const EvalRun run = bench.run();
  const Json report = report_of(bench.config.methods, bench.turns, run);
  for (const Json& row : report["turns"]) {
    const std::string method = row["method"];
    const bool begins = method.starts_with("preemptive") && method.ends_with("wait=1");
    EXPECT_EQ(row["speculative_nfe"].get<double>() > 0, begins || method == "greedy+wait=1");
    EXPECT_EQ(row["ready_before_end"], method.ends_with("wait=1") && method[0] != 'b') << method;
    const double wait = method.ends_with("wait=1") ? 1 : 0;
    EXPECT_NEAR(row["wait_from_last_word"].get<double>(), wait + row["ttfs"].get<double>(), 1e-9);
    EXPECT_EQ(row["last_change"], "word_added");
    EXPECT_TRUE(row["source"].is_null());
    EXPECT_EQ(row["heard_share"].is_null(), !(begins || method == "greedy+wait=1")) << method;
    if (begins) {
      EXPECT_EQ(row["heard_share"], 1.0);
    }
  }
  const auto latency = [&](const char* method) {
    return report["methods"][method]["audio_latency"]["mean"].get<double>();
  };
  EXPECT_NEAR(latency("preemptive+wait=1"), 0.1, 1e-9);
  EXPECT_NEAR(latency("preemptive_tts+wait=1"), 0, 1e-9);
  EXPECT_NEAR(latency("preemptive"), latency("baseline"), 1e-9);
  EXPECT_EQ(report["methods"]["preemptive+wait=1"]["ready_before_end"]["mean"], 1.0);
  const Json& comparison = report["comparisons"]["preemptive+wait=1"];
  EXPECT_EQ(comparison["equal_text"]["against"], "baseline+wait=1");
  EXPECT_EQ(comparison["equal_text"]["count"], 3);
  EXPECT_NEAR(comparison["nfe_saving_paper"]["ratio"].get<double>(), 14, 1e-9);
}

TEST(RunMethods, AnAnswerToOtherPunctuationIsNoFlip) {
  Bench bench;
  bench.config.methods = {"baseline", "preemptive"};
  std::vector<Transcript> recorded(2);
  recorded[0].text = "book a cab";
  recorded[1].text = "book a cab?";  // its last letters decide a letter of the answer
  recorded[1].time = Seconds(3);
  recorded[1].is_final = true;
  bench.turns.turns = {{"x", {}, "book a cab?", recorded}};
  const EvalRun run = bench.run();
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_TRUE(run.rows[1].result.metrics.ready_before_end);
  EXPECT_NE(run.rows[0].result.text, run.rows[1].result.text);
  EXPECT_FALSE(run.rows[1].flip);
  const Json report = report_of(bench.config.methods, bench.turns, run);
  EXPECT_EQ(report["comparisons"]["preemptive"]["equal_text"]["count"], 0);
  EXPECT_EQ(report["turns"][1]["last_change"], "punctuation");
}

TEST(RunMethods, CostTableMakesRunsEqual) {
  EXPECT_EQ(Bench().report().dump(), Bench().report().dump());
}

TEST(RunMethods, AdapterMethodsRunOnTheAdaptedWeights) {
  Bench bench;
  bench.config.methods = {"baseline"};
  bench.run();
  EXPECT_GT(bench.base.num_passes, 0);
  EXPECT_EQ(bench.adapted.num_passes, 0);
  bench.config.methods = {"cllm_ar"};
  bench.run();
  EXPECT_GT(bench.adapted.num_passes, 0);
}

TEST(RunMethods, PastAnswersSavePassesOfTheSameText) {
  Bench bench;
  bench.config.methods = {"baseline", "baseline+past_answers", "best+past_answers"};
  Engine engine = borrowing_engine(bench.base);
  TokenIds past{FakeTokenizer::kAssistant};  // the answer to a prompt that nobody gives here
  while (past.back() != FakeTokenizer::kEnd) {
    TokenIds before{'z', 'z', 'z', 'z'};
    before.insert(before.end(), past.begin(), past.end());
    past.push_back(next_token(before));
  }
  const EvalRun run =
      run_methods(bench.config, bench.cost,
                  {.tokenizer = bench.tokenizer,
                   .base = engine,
                   .past_answers = std::make_shared<AnswerStore>(std::vector<TokenIds>{past})},
                  bench.turns.turns);
  for (const EvalRow& row : run.rows) {
    EXPECT_EQ(row.result.text, run.rows[row.turn_index * 3].result.text) << row.method;
    if (row.method != "baseline+past_answers") continue;
    EXPECT_LE(row.result.metrics.total_nfe, 7);  // of 20 tokens
  }
}

TEST(RunMethods, ADraftModelsPassesAreCountedApartAndTakeTime) {
  Bench bench;
  bench.config.methods = {"baseline", "draft_model", "baseline+draft_model", "ngram+draft_model"};
  bench.cost.costs = bench.cost.costs.with_draft_model(PassCosts::given(Seconds(0.0027)));
  const FakeLanguageModel smaller({.vocab_size = 260, .next = next_token});
  Engine engine = borrowing_engine(bench.base), draft = borrowing_engine(smaller);
  const EvalRun run = run_methods(bench.config, bench.cost,
                                  {.tokenizer = bench.tokenizer, .base = engine, .draft = &draft},
                                  bench.turns.turns);
  int64_t counted = 0;
  for (const EvalRow& row : run.rows) {
    const TurnMetrics& metrics = row.result.metrics;
    counted += metrics.draft_model_total_nfe;
    EXPECT_EQ(row.result.text, run.rows[row.turn_index * 4].result.text);
    if (row.method != "baseline+draft_model") continue;
    EXPECT_EQ(metrics.nfe_to_first_sentence, 3);  // the prompt, 4 drafted tokens, then 9
    EXPECT_EQ(metrics.draft_model_nfe_to_first_sentence, 13);
    EXPECT_EQ(metrics.draft_model_speculative_nfe, 0);
    EXPECT_NEAR(*metrics.ttfs, 3 * 0.027 + 13 * 0.0027, 1e-9);
  }
  // Besides, three methods run the history before each of three turns.
  EXPECT_EQ(counted + 3 * 3, smaller.num_passes);
  const Json report = report_of(bench.config.methods, bench.turns, run);
  const Json& comparison = report["comparisons"]["baseline+draft_model"];
  EXPECT_NEAR(comparison["nfe_saving"]["ratio"].get<double>(), 14 / (3 + 1.3), 1e-9);
  EXPECT_NEAR(comparison["ttfs_saving"]["ratio"].get<double>(), 14 / (3 + 1.3), 1e-9);
  EXPECT_NE(format_table(report).find(" 3.00+13.00 "), std::string::npos);
  // As dear as the model itself: nothing is drafted.
  bench.cost.costs = bench.cost.costs.with_draft_model(bench.cost.costs);
  smaller.num_passes = 0;
  run_methods(bench.config, bench.cost,
              {.tokenizer = bench.tokenizer, .base = engine, .draft = &draft}, bench.turns.turns);
  EXPECT_EQ(smaller.num_passes, 0);
}

TEST(RunMethods, LogProbabilitiesAreThoseOfTheFirstSentence) {
  const std::vector<EvalRow> rows = Bench().run().rows;
  ASSERT_TRUE(rows[0].first_sentence_logprob);
  // 13 argmax tokens at logit 2 among 260 with hashed logits in [0, 1): each has probability
  // e^2 / (e^2 + about 259 * 1.718), so ln p is about -4.11.
  EXPECT_NEAR(*rows[0].first_sentence_logprob / 13, -4.11, 0.05);
}

TEST(RunMethods, AFailedTurnIsNamedAndLeftOutOfEveryMethod) {
  Bench bench;
  bench.turns.turns.insert(bench.turns.turns.begin() + 1,
                           {"too long", {}, std::string(5000, 'x'), {}});
  const EvalRun run = bench.run();
  ASSERT_EQ(run.failed.size(), 1u);
  EXPECT_EQ(run.failed[0].method, "baseline");
  EXPECT_THAT(run.failed[0].error, testing::HasSubstr("shorten it"));
  EXPECT_EQ(run.rows.size(), 3u * bench.config.methods.size());
  const Json report = bench.report();
  EXPECT_EQ(report["failed"][0]["id"], "too long");
  EXPECT_EQ(report["turns"].size(), run.rows.size());
}

TEST(RunMethods, ATurnThatContinuesSeesTheMethodsOwnAnswer) {
  Bench bench;
  bench.config.methods = {"baseline", "cllm_ar"};
  bench.turns.turns = {{"a", {}, "book me a table", {}},
                       {"b", {}, "and another one", {}, "", /*continues=*/true}};
  const FakeLanguageModel adapted({.vocab_size = 260, .next = [](TokenSpan history) {
                                     const TokenId token = next_token(history);
                                     return token == 'k' ? 'h' : token;
                                   }});
  Engine engine = borrowing_engine(bench.base), other = borrowing_engine(adapted);
  const EvalRun run = run_methods(bench.config, bench.cost,
                                  {.tokenizer = bench.tokenizer, .base = engine, .adapted = &other},
                                  bench.turns.turns);
  ASSERT_EQ(run.rows.size(), 4u);
  const auto contains = [](const TokenIds& tokens, const std::string& text) {
    return std::string(tokens.begin(), tokens.end()).find(text) != std::string::npos;
  };
  EXPECT_NE(run.rows[0].result.text, run.rows[1].result.text);
  for (size_t m = 0; m < 2; ++m) {
    const TokenIds& prompt = run.rows[2 + m].result.prompt;
    EXPECT_TRUE(contains(prompt, "book me a table")) << m;
    EXPECT_TRUE(contains(prompt, run.rows[m].result.text)) << m;
  }
}

TEST(RunMethods, ATurnThatContinuesAFailedOneHasFailed) {
  Bench bench;
  bench.turns.turns.push_back({"a", {}, std::string(5000, 'x'), {}});
  bench.turns.turns.push_back({"b", {}, "and another one", {}, "", /*continues=*/true});
  const EvalRun run = bench.run();
  ASSERT_EQ(run.failed.size(), 2u);
  EXPECT_EQ(run.failed[1].turn_index, 4u);
  EXPECT_THAT(run.failed[1].error, testing::HasSubstr("before it"));
}

TEST(RunMethods, ATurnsInstructionEndsTheSystemMessage) {
  Bench bench;
  bench.config.methods = {"baseline"};
  bench.config.system_prompt = "be brief";
  bench.turns.turns[1].instruction = "name a letter";
  const std::vector<EvalRow> rows = bench.run().rows;
  const auto prompt = [&](size_t i) {
    return std::string(rows[i].result.prompt.begin(), rows[i].result.prompt.end());
  };
  EXPECT_THAT(prompt(0), testing::HasSubstr("be brief"));
  EXPECT_THAT(prompt(0), testing::Not(testing::HasSubstr("be brief\n")));
  EXPECT_THAT(prompt(1), testing::HasSubstr("be brief\n\nname a letter"));
}

TEST(RunMethods, RecordedTranscriptsAreReplayed) {
  Bench bench;
  bench.config.methods = {"greedy"};
  std::vector<Transcript> recorded(2);
  recorded[0].text = "book a cable";
  recorded[1].text = "book a table";
  recorded[1].time = Seconds(1.5);
  recorded[1].is_final = true;
  bench.turns.turns = {{"x", {}, "book a table", recorded}};
  const std::vector<EvalRow> rows = bench.run().rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].result.prompt_text, "book a table");
  EXPECT_GT(rows[0].result.metrics.speculative_nfe, 0);
}

/// A model whose passes over several tokens prefer another one, as rounding may make them.
class WidthDependentModel : public FakeLanguageModel {
 public:
  using FakeLanguageModel::FakeLanguageModel;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    at::Tensor logits = FakeLanguageModel::forward(steps);
    if (steps.front().num_logits > 1) logits.select(1, 'x').fill_(3.0);
    return logits;
  }
};

TEST(RunMethods, AFlipIsNamedWithItsMargin) {
  Bench bench;
  const WidthDependentModel model({.vocab_size = 260, .next = next_token});
  Engine engine = borrowing_engine(model);
  bench.config.methods = {"top3", "greedy", "baseline"};
  const EvalRun run = run_methods(
      bench.config, bench.cost, {.tokenizer = bench.tokenizer, .base = engine}, bench.turns.turns);
  for (const EvalRow& row : run.rows) {
    ASSERT_EQ(row.flip.has_value(), row.method == "greedy") << row.method;
    if (!row.flip) continue;
    const TurnResult& plain = run.rows[row.turn_index * 3 + 2].result;
    const auto token = static_cast<size_t>(row.flip->token);
    EXPECT_TRUE(std::equal(plain.answer.begin(), plain.answer.begin() + row.flip->token,
                           row.result.answer.begin()));
    EXPECT_NE(plain.answer[token], row.result.answer[token]);
    EXPECT_GT(row.flip->margin, 1.0);  // logit 2 above hashed ones in [0, 1)
    EXPECT_LT(row.flip->margin, 1.1);
  }
}

}  // namespace
}  // namespace predgen::evaluate
