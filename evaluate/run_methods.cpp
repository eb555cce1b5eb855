#include "evaluate/run_methods.h"

#include <algorithm>
#include <span>

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

std::string system_message(const EvalConfig& config, const EvalTurn& turn) {
  const std::string text = system_prompt_text(config.system_prompt);
  const char* between = text.empty() || turn.instruction.empty() ? "" : "\n\n";
  return text + between + turn.instruction;
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

/// `priced`: with what passes cost.
SessionConfig session_config(const EvalConfig& config, const EvalModels& models,
                             const EvalTurn& turn, const Method& method,
                             const GeneratorConfig& priced) {
  SessionConfig session{.turn = config.turn,
                        .verifier = method.verifier,
                        .generator = priced,
                        .system_prompt = system_message(config, turn)};
  session.turn.work = method.work;
  session.generator.name = method.decoder;
  session.generator.block_size = config.jacobi_block_size;
  session.verifier.judged_sentences = config.judged_sentences;
  if (method.judge) session.verifier.judge = models.judge;
  session.max_context = cache_capacity(config, models, turn, session.system_prompt);
  method.preset.apply_to(session);
  if (method.draft_model) session.generator.sources.push_back("model");
  session.turn.split_mode = config.turn.split_mode;  // one for all: sentences are compared
  SpeculationConfig& speculation = session.speculation;
  const auto replace = [](int64_t& value, int64_t given) {
    if (given > 0) value = given;
  };
  if (speculation.num_candidates > 1) {
    replace(speculation.num_candidates, config.candidates);
    replace(speculation.tree_tokens, config.tree_tokens);
  }
  if (speculation.num_branches > 0) replace(speculation.num_branches, config.branches);
  if (speculation.next_words > 0) replace(speculation.next_words, config.next_words);
  return session;
}

EvalRow run_row(const EvalConfig& config, const EvalModels& models, const EvalTurn& turn,
                const Method& method, const GeneratorConfig& priced, AudioSink* sink) {
  Engine& engine = method.adapter ? *models.adapted : models.base;
  const std::unique_ptr<Clock> clock = make_clock(config, models.stop);
  std::optional<ChargedPasses> charged, charged_judge, charged_draft;
  if (auto* virtual_clock = dynamic_cast<VirtualClock*>(clock.get())) {
    const PassPrice price{.per_pass = Seconds(config.seconds_per_pass)};
    charged.emplace(engine, *virtual_clock, price);
    if (method.judge) charged_judge.emplace(*models.judge, *virtual_clock, price);
    if (method.draft_model) {
      charged_draft.emplace(*models.draft, *virtual_clock,
                            PassPrice{.per_pass = Seconds(config.seconds_per_draft_pass)});
    }
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
  Session session(session_config(config, models, turn, method, priced), engine, models.tokenizer,
                  make_speaker(*clock, speech, models.stop), *clock);
  session.set_history(turn.history);
  ScheduledSource source = make_source(config, turn, clock->now());
  const auto read_energy = [&] { return models.energy ? models.energy() : std::nullopt; };
  const std::optional<double> joules_before = read_energy();
  std::optional<TurnResult> result = session.run_turn(source, {}, models.stop);
  PREDGEN_CHECK(result, "turn {} gave no result", turn.id);
  const RepeatedValues repeated =
      count_repeated_values(turn.prompt_text, turn.reference, result->text);
  EvalRow row{0, method.name, std::move(*result), std::nullopt, repeated};
  if (const std::optional<double> joules = read_energy(); joules && joules_before) {
    row.joules = *joules - *joules_before;
  }
  if (method.draft_model) row.draft_price = priced.draft_price;
  return row;
}

/// EvalRow::flip of the rows of one turn, one for each method.
void find_flips(const EvalModels& models, const std::vector<Method>& methods,
                std::span<EvalRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Method& method = methods[i];
    const auto plain = std::ranges::find(rows, plain_method(method), &EvalRow::method);
    if (plain == rows.end() || method.verifier.name != "greedy") continue;
    const TurnResult &expected = plain->result, &found = rows[i].result;
    if (expected.text == found.text) continue;
    const auto token =
        std::ranges::mismatch(expected.answer, found.answer).in1 - expected.answer.begin();
    const Engine& engine = method.adapter ? *models.adapted : models.base;
    const TokenSpan before = TokenSpan(expected.answer).first(static_cast<size_t>(token));
    rows[i].flip = {token, top2_margin(engine.model(), expected.prompt, before)};
  }
}

bool has_failed(const EvalRun& run, size_t turn_index) {
  return !run.failed.empty() && run.failed.back().turn_index == turn_index;
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
  // pass_seconds unknown: all widths cost the same, as by the table.
  GeneratorConfig priced{.draft_width = config.draft_width, .draft_model = models.draft};
  if (config.clock == EvalClock::kVirtual && config.cost == EvalCost::kTable) {
    if (config.seconds_per_pass > 0) {
      priced.draft_price = config.seconds_per_draft_pass / config.seconds_per_pass;
    }
  } else {
    // The first passes of a process are slow; no method shall pay for that.
    for (const Method& method : methods) {
      run_row(config, models, turns.front(), method, priced, nullptr);
    }
    const auto drafts = [](const Method& method) {
      return method.draft_model || !method.preset.sources.empty();
    };
    if (std::ranges::any_of(methods, drafts)) measure_prices(priced, models.base);
  }
  EvalRun run;
  std::vector<std::vector<Message>> rounds(methods.size());  // of each method, so far
  for (size_t i = 0; i < turns.size(); ++i) {
    const size_t complete = run.rows.size();
    const auto fail = [&](const Method& method, const std::string& why) {
      run.failed.push_back({i, method.name, why});
      run.rows.resize(complete);
    };
    for (size_t m = 0; m < methods.size(); ++m) {
      const Method& method = methods[m];
      throw_if_stopped(models.stop);
      EvalTurn turn = turns[i];
      if (turn.continues && has_failed(run, i - 1)) {
        fail(method, "the turn before it has failed");
        break;
      }
      if (turn.continues) turn.history = rounds[m];
      AudioSink* sink = i == 0 && method.name == spoken ? models.first_answer : nullptr;
      EvalRow row = run_row(config, models, turn, method, priced, sink);
      row.turn_index = i;
      const TurnResult& result = row.result;
      if (result.error) {
        fail(method, *result.error);
        break;
      }
      rounds[m] = std::move(turn.history);
      rounds[m].push_back({"user", turn.prompt_text});
      rounds[m].push_back({"assistant", result.text});
      if (result.first_sentence_tokens > 0) {
        row.first_sentence_logprob = sum_logprobs(
            models.base.model(), result.prompt,
            TokenSpan(result.answer).first(static_cast<size_t>(result.first_sentence_tokens)));
      }
      run.rows.push_back(std::move(row));
      on_row(run.rows.back());
    }
    find_flips(models, methods, std::span(run.rows).subspan(complete));
  }
  if (run.rows.empty()) {
    const FailedTurn& first = run.failed.at(0);
    throw UserError("every turn failed; turn {} with {}: {}", turns[first.turn_index].id,
                    first.method, first.error);
  }
  return run;
}

}  // namespace predgen
