#include "bench/traffic/simulated_traffic.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "evaluate/statistics.h"
#include "hear/transcripts/scheduled_source.h"
#include "runtime/converse/session.h"
#include "runtime/converse/session_options.h"
#include "tests/fakes/engine_clock.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

SessionConfig session_config(const ServedModel& model, const TrafficConfig& config) {
  SessionConfig session{.generator = {.costs = model.costs},
                        .max_context = model.model->max_positions()};
  find_preset(config.preset).apply_to(session);
  session.turn.work =
      config.drafting == Drafting::kNone ? InputTimeWork::kCascade : InputTimeWork::kSpeculate;
  session.turn.max_new_tokens = config.max_new_tokens;
  return session;
}

/// All that was said at the end of each word.
std::vector<Transcript> speak(const std::string& prompt, Seconds start, double words_per_minute) {
  std::vector<Transcript> heard;
  std::istringstream words(prompt);
  std::string text;
  for (std::string word; words >> word;) {
    text = joined(text, " ", word);
    start += Seconds(60 / words_per_minute);
    heard.push_back({.text = text, .time = start});
  }
  return heard;
}

class SimulatedTraffic {
 public:
  SimulatedTraffic(const ServedModel& model, const std::vector<std::string>& prompts,
                   const TrafficConfig& config)
      : model_(model),
        prompts_(prompts),
        config_(config),
        engine_(model.model,
                {.pass_sequences = config.shares_passes ? std::numeric_limits<int64_t>::max() : 1,
                 .engine_lock = &engine_lock_}) {
    if (config.drafting == Drafting::kAutomatic) {
      engine_.yield_speculation(model.costs.tokens_for(1));
    }
    engine_.observe_passes([this](const PassSize& pass) {
      const Seconds cost = model_.costs.of(pass.num_tokens);
      clock_.advance(cost);
      result_.busy_seconds += cost.count();
      result_.num_sequences += pass.num_sequences;
    });
  }

  TrafficResult run() {
    std::vector<std::vector<std::string>> texts(static_cast<size_t>(config_.people));
    std::vector<std::function<void()>> work;
    for (size_t i = 0; i < texts.size(); ++i) {
      work.emplace_back([this, i, &texts] { talk(i, texts[i]); });
    }
    run_queued(engine_lock_, work);
    for (std::vector<std::string>& said : texts) {
      std::ranges::move(said, std::back_inserter(result_.texts));
    }
    std::ranges::sort(result_.first_sentences);
    result_.num_passes = engine_.num_forward_passes();
    return std::move(result_);
  }

 private:
  /// With the engine lock, as everything that follows.
  void talk(size_t person, std::vector<std::string>& texts) {
    const c10::InferenceMode inference;
    Random random(config_.seed, "household", person);  // another name would draw other figures
    Session session(session_config(model_, config_), engine_, model_.tokenizer,
                    std::make_unique<SilentSpeaker>(), clock_);
    for (int64_t turn = 0; turn < config_.turns; ++turn) {
      const double between = -config_.seconds_between * std::log(1 - random.uniform());
      const std::string& prompt = prompts_[random.below(prompts_.size())];
      ScheduledSource source(
          speak(prompt, clock_.now() + Seconds(between), config_.words_per_minute));
      const TurnResult result = session.run_turn(source).value();
      PREDGEN_CHECK(!result.error, "a turn failed: {}", result.error->text);
      texts.push_back(result.text);
      if (result.metrics.ttfs) result_.first_sentences.push_back(*result.metrics.ttfs);
      result_.num_drafted += result.metrics.spec_tokens_drafted;
      result_.num_wasted += result.metrics.spec_tokens_wasted;
    }
    result_.seconds = clock_.now().count();
  }

  const ServedModel& model_;
  const std::vector<std::string>& prompts_;
  const TrafficConfig& config_;
  EngineLock engine_lock_;
  EngineClock clock_{engine_lock_};
  TrafficResult result_;
  Engine engine_;
};

}  // namespace

double TrafficResult::first_sentence(double q) const {
  return first_sentences.empty() ? 0 : evaluate::quantile(first_sentences, q);
}

void TrafficResult::add(const TrafficResult& other) {
  const auto join = [](auto& into, const auto& from) {
    into.insert(into.end(), from.begin(), from.end());
  };
  join(first_sentences, other.first_sentences);
  std::ranges::sort(first_sentences);
  join(texts, other.texts);
  num_drafted += other.num_drafted;
  num_wasted += other.num_wasted;
  num_passes += other.num_passes;
  num_sequences += other.num_sequences;
  busy_seconds += other.busy_seconds;
  seconds += other.seconds;
}

TrafficResult simulate_traffic(const ServedModel& model, const std::vector<std::string>& prompts,
                               const TrafficConfig& config) {
  return SimulatedTraffic(model, prompts, config).run();
}

}  // namespace predgen
