#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/evaluate/run_turns.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/waiting.h"

namespace predgen::evaluate {
namespace {

constexpr std::chrono::milliseconds kPass{20};

/// Every pass takes 20 ms of the wall clock, and a little more.
class SlowModel : public FakeLanguageModel {
 public:
  using FakeLanguageModel::FakeLanguageModel;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    take(kPass);
    return FakeLanguageModel::forward(steps);
  }
};

TokenId next_token(TokenSpan history) {
  static const std::string answer = "Yes. Go on.";
  const auto assistant = std::ranges::find(history, FakeTokenizer::kAssistant);
  const auto place = static_cast<size_t>(history.end() - assistant) - 1;
  return place < answer.size() ? static_cast<TokenId>(answer[place]) : FakeTokenizer::kEnd;
}

// Real time: slow by its label, and the median of five turns stands for the machine at rest.
TEST(Clocks, VirtualAndRealAgreeWithinATenth) {
  const FakeTokenizer tokenizer;
  EvalConfig config;
  config.methods = {"baseline", "greedy"};
  std::vector<Transcript> heard(2);
  heard[0] = {.text = "a", .time = Seconds(0.1)};
  heard[1] = {.text = "a b", .time = Seconds(0.35), .is_final = true};
  TurnSet turns;
  for (const char* id : {"1", "2", "3", "4", "5"}) {
    turns.turns.push_back({.id = id, .history = {}, .prompt_text = "a b", .recorded = heard});
  }
  const auto median_ttfs = [&](const LanguageModel& model, const RunCost& cost) {
    Engine engine = borrowing_engine(model);
    const EvalRun run =
        run_methods(config, cost, {.tokenizer = tokenizer, .base = engine}, turns.turns);
    const Json methods = report_of(config.methods, turns, run)["methods"];
    return std::pair(methods["baseline"]["ttfs"]["p50"].get<double>(),
                     methods["greedy"]["ttfs"]["p50"].get<double>());
  };
  const FakeLanguageModel fast({.vocab_size = 260, .next = next_token});
  const SlowModel slow({.vocab_size = 260, .next = next_token});
  const auto table = median_ttfs(fast, {.costs = PassCosts::given(kPass)});
  EXPECT_NEAR(table.first, 5 * 0.02, 1e-9);   // four letters and the blank that confirms them
  EXPECT_NEAR(table.second, 1 * 0.02, 1e-9);  // kept
  for (const EvalClock clock : {EvalClock::kVirtual, EvalClock::kReal}) {
    config.clock = clock;
    const auto measured = median_ttfs(slow, {.name = "wall_clock"});
    EXPECT_NEAR(measured.first / table.first, 1, 0.1);
    EXPECT_NEAR(measured.second / table.second, 1, 0.1);
  }
}

}  // namespace
}  // namespace predgen::evaluate
