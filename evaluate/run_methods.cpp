#include "evaluate/run_methods.h"

#include <algorithm>
#include <span>

#include "audio/make_audio_sink.h"
#include "core/error.h"
#include "core/stop.h"
#include "evaluate/score.h"
#include "evaluate/tool_turns.h"
#include "evaluate/turn_schedule.h"
#include "hear/transcripts/scheduled_source.h"
#include "runtime/converse/call_constraint.h"
#include "runtime/converse/session.h"
#include "runtime/converse/session_options.h"
#include "runtime/cost/engine_costs.h"
#include "runtime/speech/make_speaker.h"

namespace predgen::evaluate {
namespace {

constexpr size_t kTraceBytes = 1 << 20;

constexpr int64_t kResultTokens = 256;  // of what a simulated tool says

std::string system_message(const EvalConfig& config, const EvalTurn& turn) {
  const std::string text = system_prompt_text(config.system_prompt);
  const char* between = text.empty() || turn.instruction.empty() ? "" : "\n\n";
  return text + between + turn.instruction;
}

// Enough for every prompt of the turn, the answer and a draft; never more than the model takes.
int64_t cache_capacity(const EvalConfig& config, const EvalModels& models, const EvalTurn& turn) {
  const std::string system_prompt = system_message(config, turn);
  size_t longest = 0;
  const ToolSet tools = models.tools ? tool_set(*models.tools) : ToolSet();
  const auto measure = [&](const std::string& text) {
    std::vector<Message> messages;
    if (!system_prompt.empty()) messages.push_back({"system", system_prompt});
    messages.insert(messages.end(), turn.history.begin(), turn.history.end());
    messages.push_back({"user", text});
    longest = std::max(longest, models.tokenizer.render_chat(messages, true, tools).size());
  };
  measure(turn.prompt_text);
  for (const Transcript& transcript : turn.recorded) measure(transcript.text);
  const int64_t rounds =
      models.tools ? config.tools.max_rounds * (config.turn.max_new_tokens + kResultTokens) : 0;
  const int64_t room = rounds + config.turn.max_new_tokens + config.turn.max_draft_tokens +
                       2 * config.jacobi_block_size + 16;
  return std::min(models.base.model().max_positions(), static_cast<int64_t>(longest) + room);
}

std::unique_ptr<Clock> make_clock(const EvalConfig& config, const RunCost& cost,
                                  const std::stop_token& stop) {
  if (config.clock == EvalClock::kReal) return std::make_unique<SystemClock>(stop);
  return std::make_unique<VirtualClock>(cost.costs.is_known()
                                            ? VirtualClock::Computation::kCostTable
                                            : VirtualClock::Computation::kMeasured);
}

/// Charges passes to the clock while this lives.
class ChargedPasses {
 public:
  ChargedPasses(Engine& engine, VirtualClock& clock, const PassCosts& costs) : engine_(engine) {
    engine.observe_passes(charge_passes(clock, costs));
  }
  ~ChargedPasses() { engine_.observe_passes({}); }
  ChargedPasses(const ChargedPasses&) = delete;
  ChargedPasses& operator=(const ChargedPasses&) = delete;

 private:
  Engine& engine_;
};

/// `costed`: with pass costs.
SessionConfig session_config(const EvalConfig& config, const EvalModels& models,
                             const EvalTurn& turn, const Method& method,
                             const GeneratorConfig& costed) {
  SessionConfig session{.turn = config.turn,
                        .verifier = method.verifier,
                        .generator = costed,
                        .system_prompt = system_message(config, turn)};
  session.turn.work = method.work;
  session.turn.sound_ahead = method.sound_ahead;
  session.turn.trace_bytes = kTraceBytes;
  session.generator.name = method.decoder;
  session.verifier.judged_sentences = config.session.judged_sentences;
  if (models.tools) session.tools = tool_set(*models.tools);
  method.preset.apply_to(session);
  if (method.past_answers) session.generator.sources.push_back("past_answers");
  if (method.draft_model) session.generator.sources.emplace_back(draft_source_of(*models.draft));
  // The same for all methods unless one asks for its own: sentences are compared.
  session.turn.split_mode = method.split.value_or(config.turn.split_mode);
  SpeculationConfig& speculation = session.speculation;
  const auto replace = [](int64_t& value, int64_t given) {
    if (given > 0) value = given;
  };
  if (speculation.num_candidates > 1) {
    replace(speculation.num_candidates, config.candidates);
    replace(speculation.tree_tokens, config.tree_tokens);
  }
  if (speculation.num_branches > 0) replace(speculation.num_branches, config.branches);
  return session;
}

Engine& engine_of(const EvalModels& models, const Method& method) {
  return method.adapter ? *models.adapted : models.base;
}

/// EvalRow::flip of the rows of one turn, one for each method.
void find_flips(const EvalModels& models, const std::vector<Method>& methods,
                std::span<EvalRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Method& method = methods[i];
    const auto plain = std::ranges::find(rows, plain_method(method), &EvalRow::method);
    if (plain == rows.end() || method.verifier.name != "greedy") continue;
    const TurnResult &expected = plain->result, &found = rows[i].result;
    if (expected.text == found.text || found.answers_partial) continue;
    if (models.tools && expected.prompt != found.prompt) continue;  // other calls came before
    const auto token =
        std::ranges::mismatch(expected.answer, found.answer).in1 - expected.answer.begin();
    const Engine& engine = engine_of(models, method);
    const TokenSpan before = TokenSpan(expected.answer).first(static_cast<size_t>(token));
    rows[i].flip = {token, top2_margin(engine.model(), expected.prompt, before)};
  }
}

}  // namespace

std::string spoken_method(const EvalConfig& config) {
  const auto& methods = config.methods;
  return std::find(methods.begin(), methods.end(), "greedy") != methods.end() ? "greedy"
                                                                              : methods.front();
}

std::vector<size_t> conversation_bounds(const std::vector<EvalTurn>& turns) {
  std::vector<size_t> bounds;
  for (size_t i = 0; i < turns.size(); ++i) {
    if (!turns[i].continues) bounds.push_back(i);
  }
  bounds.push_back(turns.size());
  return bounds;
}

struct MethodRunner::Stage {
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Session> session;
};

MethodRunner::~MethodRunner() = default;

MethodRunner::MethodRunner(const EvalConfig& config, const RunCost& cost, const EvalModels& models,
                           const EvalTurn& warm_up)
    : config_(config),
      cost_(cost),
      models_(models),
      costed_{.block_size = config.jacobi_block_size,
              .draft_width = config.draft_width,
              .costs = cost.costs,
              .draft_model = models.draft,
              .past_answers = models.past_answers} {
  for (const std::string& name : config.methods) methods_.push_back(parse_method(name));
  stages_.resize(methods_.size());
  if (models.tools && any_method(config, &Method::grammar)) {
    grammars_.emplace(models.tokenizer);
    form_of_ = [this](const AnswerRules& rules) {
      return call_constraint(*grammars_, rules, models_.tokenizer, /*thinks=*/false);
    };
  }
  if (cost.costs.is_known()) return;
  for (size_t i = 0; i < methods_.size(); ++i) {
    PauseHistory pauses;
    run_row(warm_up, i, nullptr, pauses);
  }
  std::ranges::fill(stages_, nullptr);
  const auto wants_costs = [&](const Method& method) {
    const Engine& engine = engine_of(models, method);
    return session_config(config, models, warm_up, method, costed_).wants_costs(engine.model());
  };
  if (std::ranges::any_of(methods_, wants_costs)) measure_costs(costed_, models.base);
}

std::unique_ptr<MethodRunner::Stage> MethodRunner::make_stage(const EvalTurn& turn,
                                                              const Method& method) {
  SessionConfig session = session_config(config_, models_, turn, method, costed_);
  if (method.grammar) {
    const AnswerRules rules{.tools = session.tools};
    session.constraint = form_of_(spoken(rules, /*is_behind_results=*/false));
    session.behind_results = form_of_(spoken(rules, /*is_behind_results=*/true));
  }
  session.max_context = capacity_ > 0 ? capacity_ : cache_capacity(config_, models_, turn);
  auto stage = std::make_unique<Stage>(make_clock(config_, cost_, models_.stop));
  stage->session = std::make_unique<Session>(session, engine_of(models_, method), models_.tokenizer,
                                             std::make_unique<SilentSpeaker>(), *stage->clock);
  return stage;
}

EvalRow MethodRunner::run_row(const EvalTurn& turn, size_t number, AudioSink* sink,
                              PauseHistory& pauses) {
  const Method& method = methods_.at(number);
  Engine& engine = engine_of(models_, method);
  std::unique_ptr<Stage> stage = std::move(stages_.at(number));
  if (!stage) stage = make_stage(turn, method);
  Clock& clock = *stage->clock;
  std::optional<ChargedPasses> charged, charged_draft;
  if (cost_.costs.is_known()) {
    auto& virtual_clock = dynamic_cast<VirtualClock&>(clock);
    charged.emplace(engine, virtual_clock, cost_.costs);
    if (method.draft_model)
      charged_draft.emplace(*models_.draft, virtual_clock, cost_.costs.of_draft_model());
  }
  std::unique_ptr<AudioSink> silence;
  if (config_.clock == EvalClock::kReal && models_.voice && !sink) {
    silence = make_audio_sink("none", models_.voice->sample_rate(), 0, models_.stop);
    sink = silence.get();
  }
  SpeakerOptions speech{.voice = models_.voice,
                        .sink = sink,
                        .ahead = models_.ahead,
                        .same_device = config_.same_device};
  if (cost_.costs.is_known()) {
    speech.cost = SpeechCost{.to_first_audio = Seconds(config_.seconds_to_first_audio),
                             .per_character = Seconds(config_.seconds_per_character)};
  }
  Session& session = *stage->session;
  session.set_pauses(pauses);
  session.set_speaker(make_speaker(clock, speech, models_.stop));
  session.set_history(turn.history);
  const Seconds start = clock.now();
  const std::vector<Transcript> schedule = turn_schedule(config_, turn, method, start);
  ScheduledSource source(schedule);
  Seconds heard{0};
  std::optional<double> ttft;
  const TurnObserver observer{
      .on_transcript = [&](const Transcript& transcript) { heard = transcript.time; },
      .on_text =
          [&](const std::string&) {
            if (!ttft) ttft = (clock.now() - heard).count();
          }};
  const auto read_energy = [&] { return models_.energy ? models_.energy() : std::nullopt; };
  const std::optional<double> joules_before = read_energy();
  EvalRow row{.method = method.name};
  if (models_.tools) {
    ToolRoundOptions options = config_.tools;
    if (!method.early) options.early_calls = 0;
    const ToolRounds::FormOf form = method.grammar ? form_of_ : nullptr;
    ToolTurn with_tools = run_tool_turn(session, source, observer, models_.stop, *models_.tools,
                                        options, form, models_.tokenizer, clock);
    row.result = std::move(with_tools.result);
    ToolOutcome& tools = row.tools.emplace(std::move(with_tools.outcome));
    if (method.work != InputTimeWork::kSpeculate) tools.known_ahead.reset();
    if (turn.right_call) {
      tools.is_right = is_right(*turn.right_call, tools.calls);
      tools.is_right_tool = has_right_name(*turn.right_call, tools.calls);
      if (!turn.right_call->name.empty()) {
        tools.said_ahead = said_ahead(*turn.right_call, row.result.events);
      }
    }
  } else {
    std::optional<TurnResult> result = session.run_turn(source, observer, models_.stop);
    PREDGEN_CHECK(result, "turn {} gave no result", turn.id);
    row.result = *std::move(result);
  }
  pauses = session.pauses();
  session.set_speaker(std::make_unique<SilentSpeaker>());
  row.repeated_values = count_repeated_values(turn.prompt_text, turn.reference, row.result.text);
  if (const std::optional<double> joules = read_energy(); joules && joules_before) {
    row.joules = *joules - *joules_before;
  }
  if (method.draft_model) row.draft_cost = costed_.costs.draft_cost();
  row.ttft = ttft;
  row.start = start;
  row.end_of_turn_wait = end_of_turn_wait(config_, turn, method, schedule, start);
  row.has_voice = turn.voice && !turn.voice->is_cut_off;
  if (models_.tools) stages_.at(number) = std::move(stage);
  return row;
}

EvalRun MethodRunner::run(const std::vector<EvalTurn>& turns, size_t begin, size_t end) {
  EvalRun run;
  const std::string spoken = spoken_method(config_);
  std::vector<std::vector<Message>> rounds(methods_.size());  // of each method, so far
  std::vector<PauseHistory> pauses(methods_.size());
  if (models_.tools && capacity_ == 0) {
    for (const EvalTurn& turn : turns) {
      capacity_ = std::max(capacity_, cache_capacity(config_, models_, turn));
    }
  }
  for (size_t i = begin; i < end; ++i) {
    const size_t complete = run.rows.size();
    const auto fail = [&](const Method& method, const std::string& why) {
      run.failed.push_back({i, method.name, why});
      run.rows.resize(complete);
    };
    for (size_t m = 0; m < methods_.size(); ++m) {
      const Method& method = methods_[m];
      throw_if_stopped(models_.stop);
      EvalTurn turn = turns[i];
      if (i > begin && !run.failed.empty()) {
        fail(method, "the turn before it has failed");
        break;
      }
      if (i > begin) turn.history = rounds[m];
      AudioSink* sink = i == 0 && method.name == spoken ? models_.first_answer : nullptr;
      EvalRow row = run_row(turn, m, sink, pauses[m]);
      row.turn_index = i;
      const TurnResult& result = row.result;
      if (result.error) {
        fail(method, result.error->text);
        break;
      }
      rounds[m] = std::move(turn.history);
      rounds[m].push_back({"user", turn.prompt_text});
      rounds[m].push_back({"assistant", result.text});
      // With tools it may not be the last prompt's.
      if (result.first_sentence_tokens > 0 && !models_.tools) {
        row.first_sentence_logprob = sum_logprobs(
            models_.base.model(), result.prompt,
            TokenSpan(result.answer).first(static_cast<size_t>(result.first_sentence_tokens)));
      }
      run.rows.push_back(std::move(row));
    }
    find_flips(models_, methods_, std::span(run.rows).subspan(complete));
  }
  return run;
}

}  // namespace predgen::evaluate
