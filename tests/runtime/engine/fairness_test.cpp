#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/engine_clock.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

/// A pass over one token takes a second, and as long as kFairTokens further ones.
constexpr int64_t kFairTokens = 40;

struct Pass {
  double begin = 0, end = 0;
  std::map<TokenId, double> seconds;  // of each thread's tokens
};

/// What a pass takes beside its tokens.
constexpr double kFixed = 1 - 1.0 / kFairTokens;

/// Says nothing, and remembers what a pass has of whom: a thread's tokens are its number.
class WatchingModel : public LanguageModel {
 public:
  /// So long a token takes for each one that is cached before it.
  explicit WatchingModel(double reading) : reading_(reading) {}

  int64_t vocab_size() const override { return 1; }
  int64_t max_positions() const override { return 4096; }
  TokenSpan mask_tokens() const override { return {}; }
  bool gives_hidden() const override { return false; }
  KvLayout kv_layout() const override {
    return {.num_layers = 1, .num_kv_heads = 1, .head_dim = 1, .options = at::kByte};
  }
  using LanguageModel::forward;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    Pass& pass = passes.emplace_back();
    int64_t num_logits = 0;
    for (const SequenceStep& step : steps) {
      const auto count = std::ssize(step.tokens);
      const at::Tensor none = at::zeros({1, 1, count, 1}, at::kByte);
      for (int64_t i = 0; i < count; ++i) {
        pass.seconds[step.tokens.back()] +=
            1.0 / kFairTokens + reading_ * static_cast<double>(step.state->length() + i);
      }
      step.state->append(0, none, none);
      step.state->commit(count);
      num_logits += step.num_logits;
    }
    return at::zeros({num_logits, 1});
  }
  mutable std::vector<Pass> passes;

 private:
  const double reading_;
};

/// A client's thread asks for answers: prompts, of which some are long, and tokens one by one.
struct Thread {
  TokenId id = 0;
  std::string client;
};

/// What a thread waited for: from when it asked until it had a part in a pass.
struct Wait {
  const Thread* thread;
  double asked = 0;
  size_t first_pass = 0;  // that had not ended then
};

/// What the engine knows of the costs.
enum class Known { kNothing, kCounts, kAll };

struct SharedEngine {
  /// `reading`: a cached token's, in seconds.
  SharedEngine(Known known, double reading) : model(reading) {
    if (known == Known::kCounts) engine.share_fairly(kFairTokens);
    if (known == Known::kAll) engine.share_fairly(kFairTokens, {reading, reading});
    engine.observe_passes([this](const PassSize&) {
      Pass& pass = model.passes.back();
      pass.begin = clock.now().count();
      double seconds = kFixed;
      for (const auto& [id, own] : pass.seconds) seconds += own;
      clock.advance(Seconds(seconds));
      pass.end = clock.now().count();
    });
  }

  void ask(const Thread& thread, Sequence& sequence, int64_t count, double asked,
           Priority priority) {
    // A pass that was under way has ended by now.
    size_t first = model.passes.size();
    while (first > 0 && model.passes[first - 1].end > asked) --first;
    if (priority == Priority::kCommitted) waits.push_back({&thread, asked, first});
    sequence.append(TokenIds(static_cast<size_t>(count), thread.id));
    engine.run({.sequence = &sequence, .priority = priority});
  }

  void talk(const Thread& thread) {
    const c10::InferenceMode inference;
    Random random(1, "client", static_cast<uint64_t>(thread.id));
    const bool is_greedy = thread.id % 10 == 0;  // wants as much as there is, at once
    for (int i = 0; i < 3; ++i) {
      const double begin = clock.now().count() + (is_greedy ? 0 : 300 * random.uniform());
      clock.sleep_until(Seconds(begin));
      Sequence sequence = engine.make_sequence(4096);
      const auto longest = is_greedy ? 1000 : random.below(4) == 0 ? 200 : 30;
      const Priority priority =
          random.below(5) == 0 ? Priority::kSpeculative : Priority::kCommitted;
      ask(thread, sequence, 1 + static_cast<int64_t>(random.below(longest)), begin, priority);
      for (auto left = random.below(6); left > 0; --left) {
        ask(thread, sequence, 1, clock.now().count(), priority);
      }
    }
  }

  /// How long a client made another one wait for a pass at most, in times of what that pass would
  /// have taken without anybody else. A pass that runs another answer of the one that waits is not
  /// waited for.
  double longest_delay(const std::vector<Thread>& threads) const {
    double longest = 0;
    for (const Wait& wait : waits) {
      std::map<std::string, double> by;  // seconds that a client costs
      for (size_t i = wait.first_pass; i < model.passes.size(); ++i) {
        const Pass& pass = model.passes[i];
        const auto own = pass.seconds.find(wait.thread->id);
        const bool is_in = own != pass.seconds.end();
        const auto is_of_client = [&](const auto& part) {
          return threads[static_cast<size_t>(part.first)].client == wait.thread->client;
        };
        if (!is_in && std::ranges::any_of(pass.seconds, is_of_client)) continue;
        const double overlap =
            (pass.end - std::max(pass.begin, wait.asked)) / (pass.end - pass.begin);
        const double fixed = is_in ? 0 : kFixed / static_cast<double>(pass.seconds.size());
        for (const auto& [id, seconds] : pass.seconds) {
          const std::string& client = threads[static_cast<size_t>(id)].client;
          if (client == wait.thread->client) continue;
          by[client] += overlap * (fixed + seconds);
        }
        if (!is_in) continue;
        for (const auto& [client, seconds] : by) {
          longest = std::max(longest, seconds / (kFixed + own->second));
        }
        break;
      }
    }
    return longest;
  }

  EngineLock engine_lock;
  EngineClock clock{engine_lock};
  WatchingModel model;
  Engine engine = borrowing_engine(model, {.pass_tokens = 512, .engine_lock = &engine_lock});
  std::vector<Wait> waits;
};

/// Many clients, every eighth of which has four threads.
std::vector<Thread> draw_threads() {
  std::vector<Thread> threads;
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < (i % 8 == 0 ? 4 : 1); ++j) {
      threads.push_back({static_cast<TokenId>(threads.size()), "client " + std::to_string(i)});
    }
  }
  return threads;
}

double longest_delay(Known known, double reading) {
  const c10::InferenceMode inference;
  const std::vector<Thread> threads = draw_threads();
  SharedEngine shared(known, reading);
  std::vector<QueuedThread> work;
  for (const Thread& thread : threads) {
    work.push_back({.client = thread.client, .work = [&] { shared.talk(thread); }});
  }
  run_queued(shared.engine_lock, work);
  EXPECT_GT(shared.waits.size(), 3000u);
  return shared.longest_delay(threads);
}

TEST(Fairness, NobodyWaitsForAClientForMoreThanTwoPassesOfHisOwn) {
  EXPECT_LE(longest_delay(Known::kCounts, 0), 2);
  EXPECT_GT(longest_delay(Known::kNothing, 0), 2) << "nobody wants much";
}

/// The longest texts cost a token a quarter of a pass.
TEST(Fairness, WhatTokensReadCountsToo) {
  constexpr double kReading = 1.0 / 4000;
  EXPECT_LE(longest_delay(Known::kAll, kReading), 2);
  EXPECT_GT(longest_delay(Known::kCounts, kReading), 2) << "nobody reads much";
}

/// 12 answers of a client go on from a text of 3,000 tokens, beside a short answer of another one.
struct BesideForks {
  static constexpr TokenId kForks = 12, kText = kForks, kShort = kForks + 1;

  BesideForks(Known known, double reading) : shared(known, reading), text(sequence()) {
    const c10::InferenceMode inference;
    {
      const EngineLock::Hold hold(shared.engine_lock, "forks");
      ask(text, 3000, kText);
    }
    std::vector<QueuedThread> work;
    for (TokenId id = 0; id < kForks; ++id) {
      work.push_back({.client = "forks", .work = [this, id] { go_on(text.fork(), id, 30); }});
    }
    work.push_back({.client = "short", .work = [this] { answer_shortly(); }});
    run_queued(shared.engine_lock, work);
  }

  Sequence sequence() { return shared.engine.make_sequence(4096); }
  void ask(Sequence& sequence, int64_t count, TokenId id) {
    sequence.append(TokenIds(static_cast<size_t>(count), id));
    shared.engine.run({.sequence = &sequence});
  }
  void go_on(Sequence fork, TokenId id, int count) {
    const c10::InferenceMode inference;
    shared.engine.run({.sequence = &fork});  // the text's last token
    for (int i = 0; i < count; ++i) ask(fork, 1, id);
  }
  void answer_shortly() {
    const c10::InferenceMode inference;
    Sequence answer = sequence();
    ask(answer, 20, kShort);
    const size_t first = shared.model.passes.size();
    for (int i = 0; i < 150; ++i) {
      const double asked = shared.clock.now().count();
      ask(answer, 1, kShort);
      gaps.push_back(shared.clock.now().count() - asked);
    }
    for (size_t i = first; i < shared.model.passes.size(); ++i) {
      for (const auto& [id, seconds] : shared.model.passes[i].seconds) ++num_parts[id];
    }
  }
  /// Between two tokens of the short answer, in seconds: so long a pass of its own takes.
  double longest_gap() const { return std::ranges::max(gaps); }
  double mean_gap() const {
    return std::reduce(gaps.begin(), gaps.end()) / static_cast<double>(gaps.size());
  }

  SharedEngine shared;
  Sequence text;
  std::vector<double> gaps;
  std::map<TokenId, int64_t> num_parts;  // while the short answer was under way
};

TEST(Fairness, ForksOfALongTextDoNotHoldUpAShortAnswer) {
  constexpr double kReading = 0.6 / 3000;
  const BesideForks weighed(Known::kAll, kReading);
  EXPECT_LE(weighed.longest_gap(), 2);
  EXPECT_LE(weighed.mean_gap(), 1.55);
  EXPECT_GT(BesideForks(Known::kCounts, kReading).longest_gap(), 8);
}

/// A token of theirs takes three passes of the short answer, which itself takes up to 1.2 seconds.
TEST(Fairness, WhatCostsMoreThanItsShareTakesTurns) {
  const BesideForks weighed(Known::kAll, 3.0 / 3000);
  EXPECT_LE(weighed.mean_gap(), 1.65);
  EXPECT_LE(weighed.longest_gap(), 1.2 + 3.1);
  const auto less_parts = [](const auto& a, const auto& b) { return a.second < b.second; };
  std::map<TokenId, int64_t> forks = weighed.num_parts;
  forks.erase(BesideForks::kText);
  forks.erase(BesideForks::kShort);
  ASSERT_EQ(std::ssize(forks), BesideForks::kForks);
  const auto [least, most] = std::ranges::minmax_element(forks, less_parts);
  EXPECT_GE(least->second, 1);
  EXPECT_LE(most->second, least->second + 1);
}

}  // namespace
}  // namespace predgen
