#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "core/stop.h"
#include "tests/fakes/engine_clock.h"
#include "tests/fakes/hybrid_models.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/queued_threads.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/token_language.h"

namespace predgen {
namespace {

constexpr uint64_t kPeople = 5, kTurns = 5;

/// A turn as it went, and what it went on from.
struct Turn {
  std::vector<Message> history;
  std::string prompt;
  std::string said;                  // to the user
  std::optional<TokenIds> answer{};  // nothing: interrupted
};

/// When a turn is interrupted: at the so manieth draft, piece of text, or second; 0: not so.
struct Interruption {
  int64_t draft = 0, piece = 0;
  double second = 0;
};
Interruption draw_interruption(Random& random) {
  switch (random.below(6)) {
    case 0:
      return {.draft = 1 + static_cast<int64_t>(random.below(8))};
    case 1:
      return {.piece = 1 + static_cast<int64_t>(random.below(8))};
    case 2:
      return {.second = 2 * random.uniform()};
    default:
      return {};
  }
}

struct Variant {
  const char* name;
  at::ScalarType type;
  int64_t pool_positions;
  ModelConfig (*make)() = small_config;
  bool is_constrained = false;
  bool is_by_words = false;  // then words of an odd length want answers that begin with "No"
};

class RandomConversations : public testing::TestWithParam<Variant> {
 protected:
  RandomConversations() {
    ModelConfig config = GetParam().make();
    config.vocab_size = tokenizer.vocab_size();
    config.max_positions = 512;
    model = Transformer::initialize(config, 5, GetParam().type);
    if (!GetParam().is_constrained) return;
    constraint = std::make_shared<LanguageConstraint>(sentences(tokenizer));
    if (!GetParam().is_by_words) return;
    const auto only_no = std::make_shared<LanguageConstraint>(sentences(tokenizer, {"No"}));
    constraint_for = [only_no](const std::string& words, bool) {
      return words.size() % 2 == 1 ? only_no : nullptr;
    };
  }

  SessionConfig session_config(const TalkSetup& setup) const {
    SessionConfig config = Stage::session_config(setup);
    config.constraint = constraint;
    config.constraint_for = constraint_for;
    return config;
  }

  /// The turns of one person, who shares the engine, and is interrupted at random.
  std::vector<Turn> talk(uint64_t person, Engine& engine, EngineClock& clock) {
    Random random(1, "person", person);
    const TalkSetup setup{.decoder = person % 2 == 0 ? "ar" : "jacobi",
                          .preset = person < 3 ? "default" : "eager",
                          .context_length = 500};
    Session session(session_config(setup), engine, tokenizer, std::make_unique<SilentSpeaker>(),
                    clock);
    std::vector<Turn> turns;
    for (uint64_t i = 0; i < kTurns; ++i) {
      const Seconds begin = clock.now() + Seconds(random.uniform());
      std::vector<Transcript> words = random_transcripts(100 * person + i, 1e9, 0);
      for (Transcript& heard : words) heard.time += begin;
      const Interruption interruption = draw_interruption(random);
      Turn turn{.history = session.history(), .prompt = words.back().text, .said = {}};
      std::stop_source stop;
      int64_t num_drafts = 0, num_pieces = 0;
      const auto look = [&] {
        const bool is_late =
            interruption.second > 0 && clock.now() > begin + Seconds(interruption.second);
        if (is_late || (num_drafts > 0 && num_drafts == interruption.draft) ||
            (num_pieces > 0 && num_pieces == interruption.piece)) {
          stop.request_stop();
        }
      };
      const TurnObserver observer{.on_transcript = [&](const Transcript&) { look(); },
                                  .on_draft =
                                      [&](const std::string&, size_t) {
                                        ++num_drafts;
                                        look();
                                      },
                                  .on_text =
                                      [&](const std::string& text) {
                                        turn.said += text;
                                        ++num_pieces;
                                        look();
                                      }};
      ScheduledSource source(std::move(words));
      try {
        const TurnResult result = session.run_turn(source, observer, stop.get_token()).value();
        EXPECT_FALSE(result.error);
        turn.answer = result.answer;
        num_accepted += result.metrics.spec_tokens_accepted;
      } catch (const Interrupted&) {
        session.set_history(turn.history);
      }
      turns.push_back(std::move(turn));
    }
    return turns;
  }

  bool is_within_constraint(const Turn& turn) const {
    auto held = constraint_for ? constraint_for(turn.prompt, false) : nullptr;
    if (!held) held = constraint;
    return AnswerConstraint(held, tokenizer.stop_tokens(), tokenizer.vocab_size())
               .after(*turn.answer) != nullptr;
  }

  /// The answer of a session without drafts, with an engine of its own.
  TurnResult alone(const Turn& turn) const {
    VirtualClock clock(VirtualClock::Computation::kCostTable);
    Engine engine = borrowing_engine(*model);
    Session session(session_config({.work = InputTimeWork::kCascade, .context_length = 500}),
                    engine, tokenizer, std::make_unique<SilentSpeaker>(), clock);
    session.set_history(turn.history);
    ScheduledSource source({final_one(turn.prompt, 0)});
    return session.run_turn(source).value();
  }

  const FakeTokenizer tokenizer{kWords};
  std::unique_ptr<Transformer> model;
  std::shared_ptr<const TokenConstraint> constraint;
  ConstraintFor constraint_for;
  int64_t num_accepted = 0;
};

TEST_P(RandomConversations, SaysWhatEachSessionSaysAlone) {
  const c10::InferenceMode inference;
  EngineLock engine_lock;
  EngineClock clock(engine_lock);
  Engine engine = borrowing_engine(*model, {.pass_tokens = 40,
                                            .pool_positions = GetParam().pool_positions,
                                            .engine_lock = &engine_lock});
  engine.yield_speculation(20);
  int64_t num_sequences = 0, most_swapped_out = 0;
  engine.observe_passes([&](const PassSize& pass) {
    clock.advance(Seconds(0.01 + 0.0005 * static_cast<double>(pass.num_tokens)));
    num_sequences += pass.num_sequences;
    most_swapped_out = std::max(most_swapped_out, engine.pool().num_swapped_out());
  });
  std::vector<std::vector<Turn>> people(kPeople);
  std::vector<std::function<void()>> work;
  for (uint64_t i = 0; i < kPeople; ++i) {
    work.emplace_back([&, i] {
      const c10::InferenceMode own;
      people[i] = talk(i, engine, clock);
    });
  }
  run_queued(engine_lock, work);

  int64_t num_interrupted = 0, num_whole = 0;
  for (const std::vector<Turn>& turns : people) {
    EXPECT_EQ(turns.size(), kTurns);
    for (const Turn& turn : turns) {
      const TurnResult expected = alone(turn);
      if (turn.answer) {
        EXPECT_EQ(*turn.answer, expected.answer) << turn.prompt;
        EXPECT_EQ(turn.said, expected.text);
        EXPECT_TRUE(!constraint || is_within_constraint(turn)) << turn.said;
        ++num_whole;
      } else {
        EXPECT_TRUE(expected.text.starts_with(turn.said)) << turn.said;
        ++num_interrupted;
      }
    }
  }
  EXPECT_GE(num_interrupted, 5);
  EXPECT_GE(num_whole, 10);
  EXPECT_GE(num_accepted, 10) << "drafts are to be of use";
  EXPECT_GE(num_sequences, engine.num_forward_passes() * 5 / 4) << "passes are to be shared";
  EXPECT_EQ(most_swapped_out > 0, GetParam().pool_positions < 10000);
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomConversations,
    testing::Values(Variant{"fp32", at::kFloat, 100000}, Variant{"fp32Swapped", at::kFloat, 1100},
                    Variant{"states", at::kFloat, 100000, hybrid_config},
                    Variant{"experts", at::kFloat, 100000, experts_config},
                    Variant{"expertsSwapped", at::kBFloat16, 1100, experts_config},
                    Variant{"statesSwapped", at::kFloat, 1100, hybrid_config},
                    Variant{"delta", at::kFloat, 100000, delta_config},
                    Variant{"deltaSwapped", at::kFloat, 2400, delta_config},
                    Variant{"convolutionSwapped", at::kBFloat16, 1300, convolution_config},
                    Variant{"bf16", at::kBFloat16, 100000},
                    Variant{"bf16Swapped", at::kBFloat16, 1100},
                    Variant{"fp32Within", at::kFloat, 100000, small_config, true},
                    Variant{"bf16SwappedWithin", at::kBFloat16, 1100, small_config, true},
                    Variant{"fp32ByWords", at::kFloat, 100000, small_config, true, true},
                    Variant{"bf16SwappedByWords", at::kBFloat16, 1100, small_config, true, true}),
    [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace predgen
