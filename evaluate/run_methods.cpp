#include "evaluate/run_methods.h"

#include <algorithm>

#include "core/error.h"
#include "core/stop.h"
#include "evaluate/score.h"
#include "runtime/converse/system_prompt.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/priced_model.h"
#include "runtime/input/recorded_source.h"
#include "runtime/input/scheduled_source.h"
#include "runtime/input/typed_source.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/make_verifier.h"
#include "runtime/speech/make_audio_sink.h"
#include "runtime/speech/threaded_speaker.h"
#include "runtime/speech/virtual_speaker.h"

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
  return std::min(models.base.max_positions(), static_cast<int64_t>(longest) + room);
}

std::unique_ptr<Clock> make_clock(const EvalConfig& config, const std::stop_token& stop) {
  if (config.clock == EvalClock::kReal) return std::make_unique<SystemClock>(stop);
  return std::make_unique<VirtualClock>(config.cost == EvalCost::kTable
                                            ? VirtualClock::Computation::kCostTable
                                            : VirtualClock::Computation::kMeasured);
}

// What carries a turn's sound. Owns what the speaker borrows.
struct Mouth {
  std::unique_ptr<AudioSink> silence;  // a real-time speaker needs a sink
  std::unique_ptr<Speaker> speaker;
};

Mouth make_mouth(const EvalConfig& config, const EvalModels& models, AudioSink* sink, Clock& clock,
                 const std::stop_token& stop) {
  Mouth mouth;
  if (auto* virtual_clock = dynamic_cast<VirtualClock*>(&clock)) {
    VirtualSpeaker::Options options;
    if (config.cost == EvalCost::kTable) {
      options.cost = SpeechCost{.to_first_audio = Seconds(config.seconds_to_first_audio)};
    }
    options.synthesizer = models.voice;
    options.sink = sink;
    options.ahead = config.voice.ahead_buffer();
    if (options.cost || options.synthesizer) {
      mouth.speaker = std::make_unique<VirtualSpeaker>(*virtual_clock, options, stop);
      return mouth;
    }
  } else if (models.voice) {
    if (!sink) {
      mouth.silence = make_audio_sink("none", models.voice->sample_rate(), 0, stop);
      sink = mouth.silence.get();
    }
    mouth.speaker = std::make_unique<ThreadedSpeaker>(*models.voice, *sink, clock,
                                                      config.voice.ahead_buffer(), stop);
    return mouth;
  }
  mouth.speaker = std::make_unique<SilentSpeaker>();
  return mouth;
}

ScheduledSource make_source(const EvalConfig& config, const EvalTurn& turn, Seconds start) {
  if (!turn.recorded.empty()) return ScheduledSource(shifted(turn.recorded, start));
  return ScheduledSource(type_text(turn.prompt_text, config.characters_per_minute, start));
}

EvalRow run_row(const EvalConfig& config, const EvalModels& models, const EvalTurn& turn,
                const Method& method, AudioSink* sink, const std::stop_token& stop) {
  const std::string system_prompt = system_prompt_text(config.system_prompt);
  const int64_t capacity = cache_capacity(config, models, turn, system_prompt);
  const std::unique_ptr<Clock> clock = make_clock(config, stop);
  auto* virtual_clock = dynamic_cast<VirtualClock*>(clock.get());

  const PricedModel model(method.adapter ? *models.adapted : models.base, virtual_clock,
                          {.per_pass = Seconds(config.seconds_per_pass)});
  const auto verifier = make_verifier({.name = method.verifier, .top_k = method.top_k});
  const auto generator =
      make_generator({.name = method.decoder, .block_size = config.jacobi_block_size}, model);
  const SplitMode split_mode = config.turn.split_mode;
  InputTimeSpeculator speculator(
      model, *verifier, *generator,
      [&](TokenSpan answer) { return first_sentence_length(models.tokenizer, split_mode, answer); },
      capacity);
  const Mouth mouth = make_mouth(config, models, sink, *clock, stop);

  TurnConfig turn_config = config.turn;
  turn_config.work = method.work;
  Conversation conversation(turn_config, models.tokenizer, speculator, *mouth.speaker, *clock,
                            system_prompt, stop);
  conversation.set_history(turn.history);
  ScheduledSource source = make_source(config, turn, clock->now());
  std::optional<TurnResult> result = conversation.run_turn(source);
  PREDGEN_CHECK(result, "turn {} gave no result", turn.id);
  return {0, method.name, std::move(*result), std::nullopt};
}

}  // namespace

std::string spoken_method(const EvalConfig& config) {
  const auto& methods = config.methods;
  return std::find(methods.begin(), methods.end(), "greedy") != methods.end() ? "greedy"
                                                                              : methods.front();
}

std::vector<EvalRow> run_methods(const EvalConfig& config, const EvalModels& models,
                                 const std::vector<EvalTurn>& turns,
                                 const std::function<void(const EvalRow&)>& on_row,
                                 const std::stop_token& stop) {
  std::vector<Method> methods;
  for (const std::string& name : config.methods) methods.push_back(parse_method(name));
  const std::string spoken = spoken_method(config);
  std::vector<EvalRow> rows;
  if (config.clock != EvalClock::kVirtual || config.cost != EvalCost::kTable) {
    // The first passes of a process are slow; no method shall pay for that.
    for (const Method& method : methods) {
      run_row(config, models, turns.front(), method, nullptr, stop);
    }
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    for (const Method& method : methods) {
      throw_if_stopped(stop);
      AudioSink* sink = i == 0 && method.name == spoken ? models.first_answer : nullptr;
      EvalRow row = run_row(config, models, turns[i], method, sink, stop);
      row.turn_index = i;
      const TurnResult& result = row.result;
      if (result.first_sentence_tokens > 0) {
        row.first_sentence_logprob = sum_logprobs(
            models.base, result.prompt,
            TokenSpan(result.answer).first(static_cast<size_t>(result.first_sentence_tokens)));
      }
      rows.push_back(std::move(row));
      on_row(rows.back());
    }
  }
  return rows;
}

}  // namespace predgen
