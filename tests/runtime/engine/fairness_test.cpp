#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/random.h"
#include "tests/fakes/baton_clock.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

/// A pass over one token takes a second, and as long as kTokens further ones.
constexpr int64_t kTokens = 40;
double pass_seconds(int64_t num_tokens) {
  return 1 + static_cast<double>(num_tokens - 1) / static_cast<double>(kTokens);
}

struct Pass {
  double begin = 0, end = 0;
  std::map<TokenId, int64_t> num_tokens;  // of each thread
};

/// Says nothing, and remembers whose tokens a pass has: a thread's are its number.
class WatchingModel : public LanguageModel {
 public:
  int64_t vocab_size() const override { return 1; }
  int64_t max_positions() const override { return 4096; }
  TokenSpan mask_tokens() const override { return {}; }
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
      step.state->append(0, none, none);
      step.state->commit(count);
      pass.num_tokens[step.tokens.front()] += count;
      num_logits += step.num_logits;
    }
    return at::zeros({num_logits, 1});
  }
  mutable std::vector<Pass> passes;
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

struct SharedEngine {
  explicit SharedEngine(bool is_fair) {
    if (is_fair) engine.share_fairly(kTokens);
    engine.observe_passes([this](const PassSize& size) {
      Pass& pass = model.passes.back();
      pass.begin = clock.now().count();
      clock.advance(Seconds(pass_seconds(size.num_tokens)));
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
  /// have taken without anybody else.
  double longest_delay(const std::vector<Thread>& threads) const {
    double longest = 0;
    for (const Wait& wait : waits) {
      std::map<std::string, double> by;  // seconds that a client costs
      for (size_t i = wait.first_pass; i < model.passes.size(); ++i) {
        const Pass& pass = model.passes[i];
        const auto own = pass.num_tokens.find(wait.thread->id);
        const bool is_in = own != pass.num_tokens.end();
        const double overlap =
            (pass.end - std::max(pass.begin, wait.asked)) / (pass.end - pass.begin);
        const double fixed = is_in ? 0 : pass_seconds(0) / double(pass.num_tokens.size());
        for (const auto& [id, count] : pass.num_tokens) {
          const std::string& client = threads[static_cast<size_t>(id)].client;
          if (client == wait.thread->client) continue;
          by[client] += overlap * (fixed + static_cast<double>(count) / kTokens);
        }
        if (!is_in) continue;
        for (const auto& [client, seconds] : by) {
          longest = std::max(longest, seconds / pass_seconds(own->second));
        }
        break;
      }
    }
    return longest;
  }

  Baton baton;
  BatonClock clock{baton};
  WatchingModel model;
  Engine engine = borrowing_engine(model, {.pass_tokens = 512, .baton = &baton});
  std::vector<Wait> waits;
};

/// A thousand clients, every eighth of which has four threads.
std::vector<Thread> draw_threads() {
  std::vector<Thread> threads;
  for (int i = 0; i < 1000; ++i) {
    for (int j = 0; j < (i % 8 == 0 ? 4 : 1); ++j) {
      threads.push_back({static_cast<TokenId>(threads.size()), "client " + std::to_string(i)});
    }
  }
  return threads;
}

double longest_delay(bool is_fair) {
  const c10::InferenceMode inference;
  const std::vector<Thread> threads = draw_threads();
  SharedEngine shared(is_fair);
  std::vector<QueuedThread> work;
  for (const Thread& thread : threads) {
    work.push_back({.client = thread.client, .work = [&] { shared.talk(thread); }});
  }
  run_queued(shared.baton, work);
  EXPECT_GT(shared.waits.size(), 5000u);
  return shared.longest_delay(threads);
}

TEST(Fairness, NobodyWaitsForAClientForMoreThanTwoPassesOfHisOwn) {
  EXPECT_LE(longest_delay(/*is_fair=*/true), 2);
  EXPECT_GT(longest_delay(/*is_fair=*/false), 2) << "nobody wants much";
}

}  // namespace
}  // namespace predgen
