#include "evaluate/run_methods.h"

#include <algorithm>

#include "core/error.h"
#include "core/stop.h"
#include "evaluate/score.h"
#include "runtime/converse/session.h"
#include "runtime/converse/system_prompt.h"
#include "runtime/engine/pass_price.h"
#include "runtime/input/recorded_source.h"
#include "runtime/input/scheduled_source.h"
#include "runtime/input/typed_source.h"
#include "runtime/speech/make_audio_sink.h"
#include "runtime/speech/make_speaker.h"

namespace predgen {
namespace {

// Enough for every prompt of the turn, the answer and a draft; never more than the model takes.
int64_t cache_capacity(const EvalConfig& config, const EvalModels& models, const EvalTurn& turn,
                       const std::string& system_prompt) {
  size_t longest = 0;
  const auto measure = [&](const std::string& text) {
    std::vector<Message> messages;
    if (!system_prompt.empty()) messages.push_back({"system", system_prompt});
    messages.insert(messages.end(), turn.history.begin(), turn.history.end());
    messages.push_back({"user", text});
    longest = std::max(longest, models.tokenizer.render_chat(messages).size());
  };
  measure(turn.prompt_text);
  for (const Transcript& transcript : turn.recorded) measure(transcript.text);
  const int64_t room =
      config.turn.max_new_tokens + config.turn.max_draft_tokens + 2 * config.jacobi_block_size + 16;
  return std::min(models.base.model().max_positions(), static_cast<int64_t>(longest) + room);
}

std::unique_ptr<Clock> make_clock(const EvalConfig& config, const std::stop_token& stop) {
  if (config.clock == EvalClock::kReal) return std::make_unique<SystemClock>(stop);
  return std::make_unique<VirtualClock>(config.cost == EvalCost::kTable
                                            ? VirtualClock::Computation::kCostTable
                                            : VirtualClock::Computation::kMeasured);
}

ScheduledSource make_source(const EvalConfig& config, const EvalTurn& turn, Seconds start) {
  if (!turn.recorded.empty()) return ScheduledSource(shifted(turn.recorded, start));
  return ScheduledSource(type_text(turn.prompt_text, config.characters_per_minute, start));
}

/// While this lives, passes are charged to the clock.
class ChargedPasses {
 public:
  ChargedPasses(Engine& engine, VirtualClock& clock, const PassPrice& price) : engine_(engine) {
    engine.observe_passes(charge_passes(clock, price));
  }
  ~ChargedPasses() { engine_.observe_passes({}); }
  ChargedPasses(const ChargedPasses&) = delete;
  ChargedPasses& operator=(const ChargedPasses&) = delete;

 private:
  Engine& engine_;
};

EvalRow run_row(const EvalConfig& config, const EvalModels& models, const EvalTurn& turn,
                const Method& method, AudioSink* sink) {
  SessionConfig session_config{
      .turn = config.turn,
      .verifier = method.verifier,
      .generator = {.name = method.decoder, .block_size = config.jacobi_block_size},
      .system_prompt = system_prompt_text(config.system_prompt)};
  session_config.turn.work = method.work;
  session_config.max_context = cache_capacity(config, models, turn, session_config.system_prompt);

  Engine& engine = method.adapter ? *models.adapted : models.base;
  const std::unique_ptr<Clock> clock = make_clock(config, models.stop);
  std::optional<ChargedPasses> charged;
  if (auto* virtual_clock = dynamic_cast<VirtualClock*>(clock.get())) {
    charged.emplace(engine, *virtual_clock,
                    PassPrice{.per_pass = Seconds(config.seconds_per_pass)});
  }
  std::unique_ptr<AudioSink> silence;
  if (!charged && models.voice && !sink) {
    silence = make_audio_sink("none", models.voice->sample_rate(), 0, models.stop);
    sink = silence.get();
  }
  SpeakerOptions speech{.voice = models.voice, .sink = sink, .ahead = config.voice.ahead_buffer()};
  if (config.cost == EvalCost::kTable) {
    speech.cost = SpeechCost{.to_first_audio = Seconds(config.seconds_to_first_audio)};
  }
  Session session(session_config, engine, models.tokenizer,
                  make_speaker(*clock, speech, models.stop), *clock);
  session.set_history(turn.history);
  ScheduledSource source = make_source(config, turn, clock->now());
  std::optional<TurnResult> result = session.run_turn(source, {}, models.stop);
  PREDGEN_CHECK(result, "turn {} gave no result", turn.id);
  return {0, method.name, std::move(*result), std::nullopt};
}

}  // namespace

std::string spoken_method(const EvalConfig& config) {
  const auto& methods = config.methods;
  return std::find(methods.begin(), methods.end(), "greedy") != methods.end() ? "greedy"
                                                                              : methods.front();
}

EvalRun run_methods(const EvalConfig& config, const EvalModels& models,
                    const std::vector<EvalTurn>& turns,
                    const std::function<void(const EvalRow&)>& on_row) {
  std::vector<Method> methods;
  for (const std::string& name : config.methods) methods.push_back(parse_method(name));
  const std::string spoken = spoken_method(config);
  if (config.clock != EvalClock::kVirtual || config.cost != EvalCost::kTable) {
    // The first passes of a process are slow; no method shall pay for that.
    for (const Method& method : methods) {
      run_row(config, models, turns.front(), method, nullptr);
    }
  }
  EvalRun run;
  for (size_t i = 0; i < turns.size(); ++i) {
    const size_t complete = run.rows.size();
    for (const Method& method : methods) {
      throw_if_stopped(models.stop);
      AudioSink* sink = i == 0 && method.name == spoken ? models.first_answer : nullptr;
      EvalRow row = run_row(config, models, turns[i], method, sink);
      row.turn_index = i;
      const TurnResult& result = row.result;
      if (result.error) {
        run.failed.push_back({i, method.name, *result.error});
        run.rows.resize(complete);
        break;
      }
      if (result.first_sentence_tokens > 0) {
        row.first_sentence_logprob = sum_logprobs(
            models.base.model(), result.prompt,
            TokenSpan(result.answer).first(static_cast<size_t>(result.first_sentence_tokens)));
      }
      run.rows.push_back(std::move(row));
      on_row(run.rows.back());
    }
  }
  if (run.rows.empty()) {
    const FailedTurn& first = run.failed.at(0);
    throw UserError("every turn failed; turn {} with {}: {}", turns[first.turn_index].id,
                    first.method, first.error);
  }
  return run;
}

}  // namespace predgen
