#include "runtime/converse/session.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"
#include "runtime/converse/session_turn.h"
#include "runtime/generate/answer_constraint.h"

namespace predgen {
namespace {

/// What other answers may cost beside the last one in a pass that verifies both, in single-token
/// passes.
constexpr double kOtherSteps = 1;
/// Tokens are cheap if this many more cost no more than that.
constexpr int64_t kCheapTokens = 16;

constexpr size_t kMaxEvents = 4096;  // before the final transcript

SpeculationConfig affordable(const SessionConfig& config) {
  SpeculationConfig speculation = config.speculation;
  const int64_t num_tokens = config.generator.prices.tokens_for(kOtherSteps);
  if (speculation.only_if_cheap && num_tokens < kCheapTokens) speculation = {.in_parts = true};
  speculation.prices = config.generator.prices;
  speculation.other_tokens = std::min(speculation.other_tokens, num_tokens);
  return speculation;
}

TurnError::Kind kind_of(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const TurnFailure*>(&error)) return failure->kind;
  return dynamic_cast<const PromptTooLong*>(&error) ? TurnError::Kind::kContext
                                                    : TurnError::Kind::kOther;
}

}  // namespace

Session::Session(const SessionConfig& config, Engine& engine, const Tokenizer& tokenizer,
                 std::unique_ptr<Speaker> speaker, Clock& clock)
    : config_(config),
      engine_(engine),
      tokenizer_(tokenizer),
      speaker_(std::move(speaker)),
      clock_(clock),
      history_(tokenizer, config.system_prompt),
      next_turn_(config.first_turn),
      verifier_(make_verifier(config.verifier, tokenizer, config.turn.split_mode)),
      generator_(make_generator(config.generator, engine)),
      speculator_(engine, *verifier_, *generator_, config.max_context, affordable(config)) {
  check_at_least(1, config.turn.max_draft_tokens, "max_draft_tokens");
  check_at_least(0, config.turn.first_round_tokens, "first_round_tokens");
  check_at_least(0, config.turn.later_round_tokens, "later_round_tokens");
  check_at_least(0, config.turn.turn_draft_tokens, "turn_draft_tokens");
  check_at_least(1, config.turn.max_new_tokens, "max_new_tokens");
  check_verifier(config.verifier, config.sampling);
  if (config.sampling) config.sampling->validate();
  set_tools(config.tools);
  history_.set_variables(tokenizer.thinking_switch(config.thinks));
}

Session::~Session() { set_speaker(nullptr); }

void Session::set_speaker(std::unique_ptr<Speaker> speaker) {
  const Baton::Rest rest(config_.rests);  // the old one's voice may be in the middle of a step
  speaker_ = std::move(speaker);
}

void Session::check_verifier(const VerifierConfig& verifier,
                             const std::optional<SamplingConfig>& sampling) {
  if (sampling && verifier.name != "greedy") {
    throw UserError(
        "with sampling or a repetition penalty a draft stays where it is drawn again, which is the "
        "verifier greedy, not {}",
        verifier.name);
  }
}

void Session::set_verifier(const VerifierConfig& verifier) {
  check_verifier(verifier, config_.sampling);
  verifier_ = make_verifier(verifier, tokenizer_, config_.turn.split_mode);
  config_.verifier = verifier;
  speculator_.use(*verifier_, *generator_);
}

void Session::set_generator(const GeneratorConfig& generator) {
  generator_ = make_generator(generator, engine_);
  config_.generator = generator;
  speculator_.use(*verifier_, *generator_);
  generator_->prefill(history_tokens());
}

void Session::set_max_new_tokens(int64_t count) {
  check_at_least(1, count, "max_new_tokens");
  config_.turn.max_new_tokens = count;
}

void Session::set_sampling(const std::optional<SamplingConfig>& sampling) {
  check_verifier(config_.verifier, sampling);
  if (sampling) sampling->validate();
  config_.sampling = sampling;
}

void Session::set_system_prompt(const std::string& text) {
  history_.set_system_prompt(text);
  config_.system_prompt = text;
}

void Session::set_tools(const ToolSet& tools) {
  if (!tools.empty() && tokenizer_.tool_format() == ToolFormat::kNone) {
    throw UserError("the model's chat template has no tools, or an unknown form of calls");
  }
  history_.set_tools(tools);
  config_.tools = tools;
}

void Session::set_history(const std::vector<Message>& history, const std::stop_token& stop) {
  history_.replace(history);
  last_answer_.reset();
  speculator_.reset_answer();
  const TokenIds tokens = history_tokens();
  if (tokens.empty()) return;
  speculator_.prefill(tokens, {.should_stop = [&stop] { return stop.stop_requested(); }});
  if (!stop.stop_requested()) generator_->prefill(tokens);
}

History::Room Session::room() const {
  const int64_t context_length = speculator_.context_length();
  // A small context is not reserved for answers that are seldom that long.
  return {context_length, std::min(config_.turn.max_new_tokens, context_length / 8)};
}

TokenIds Session::history_tokens() const {
  const Baton::Rest rest(config_.rests);
  return history_.tokens(room());
}

History::Prompt Session::prompt(const std::string& user_text) const {
  const Baton::Rest rest(config_.rests);
  try {
    return history_.prompt(user_text, room());
  } catch (const UserError& error) {
    throw TurnFailure(TurnError::Kind::kConversation, error.what());
  }
}

std::optional<TurnResult> Session::run_turn(TranscriptSource& source, const TurnObserver& observer,
                                            const std::stop_token& stop) {
  Turn turn{.source = source, .observer = observer, .stop = stop};
  turn.result.number = next_turn_++;
  if (config_.sampling) {
    turn.sampler = std::make_shared<Sampler>(*config_.sampling, turn.result.number);
  }
  if (config_.constraint) {
    turn.constraint = std::make_shared<AnswerConstraint>(
        config_.constraint, tokenizer_.stop_tokens(), tokenizer_.vocab_size());
  }
  try {
    return run(turn);
  } catch (const Interrupted&) {
    voice().cancel_turn();
    turn.result.calls.clear();   // which were not reported
    turn.result.answer.clear();  // it may have tokens of text that was not said
    keep_heard({});              // of the previous answer, which may still have been playing
    if (!turn.result.error && !turn.result.text.empty()) {
      remember(turn.result);
      keep_heard({});
    } else if (turn.is_over) {
      last_answer_.reset();  // it is not this turn's
    }
    throw;
  }
}

std::optional<TurnResult> Session::run(Turn& turn) {
  TurnResult& result = turn.result;
  const int64_t passes_before = speculator_.num_forward_passes();
  const int64_t draft_model_before = num_draft_model_passes();
  speculator_.reset_answer();
  const int64_t tokens_before = speculator_.num_tokens();
  // A failure ends the turn, not the conversation: the first one is kept.
  const auto attempt = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      if (!result.error) result.error = TurnError{kind_of(error), first_line(error.what())};
    }
  };
  for (int64_t revision = 0;;) {
    const std::optional<Transcript> heard = turn.source.wait_newer(revision, clock_);
    if (!heard) {
      if (revision > 0) voice().finish_turn(turn.stop);
      return std::nullopt;
    }
    revision = heard->revision;
    turn.observer.on_transcript(*heard);
    turn.is_over = heard->is_final;
    if (heard->is_stable) turn.paused = heard;
    note(turn, heard->time,
         heard->is_final ? TurnEvent::Kind::kFinal : TurnEvent::Kind::kTranscript, heard->text);
    if (!heard->is_final) {
      if (!result.error) {
        attempt([&] {
          try {
            work_ahead(*heard, turn);
          } catch (const DeadEnd& error) {  // the answer to the final words need not come to it
            note(turn, clock_.now(), TurnEvent::Kind::kNotExplored, first_line(error.what()));
          }
        });
      }
      continue;
    }
    result.prompt_text = heard->text;
    result.metrics.speculative_nfe = speculator_.num_forward_passes() - passes_before;
    result.metrics.draft_model_speculative_nfe = num_draft_model_passes() - draft_model_before;
    if (!result.error) attempt([&] { answer(*heard, turn); });
    attempt([&] { finish_speech(*heard, turn); });  // nothing is left for the next turn to say
    break;
  }
  result.metrics.total_nfe = speculator_.num_forward_passes() - passes_before;
  result.metrics.draft_model_total_nfe = num_draft_model_passes() - draft_model_before;
  if (result.error) {
    note(turn, clock_.now(), TurnEvent::Kind::kFailed, result.error->text);
    // What it has said so far must not be heard before the next answer.
    if (result.metrics.first_words) voice().cancel_turn();
    speculator_.roll_back(tokens_before);
  } else {
    remember(result);
  }
  return result;
}

void Session::note(Turn& turn, Seconds time, TurnEvent::Kind kind, const std::string& text) const {
  std::vector<TurnEvent>& events = turn.result.events;
  if (!turn.is_over && events.size() >= kMaxEvents) return;
  const bool is_kept = turn.trace_bytes + text.size() <= config_.turn.trace_bytes;
  if (is_kept) turn.trace_bytes += text.size();
  events.push_back({time, kind, is_kept ? text : ""});
}

bool Session::is_outdated(const Transcript& heard, const Turn& turn) const {
  throw_if_stopped(turn.stop);
  const std::optional<Transcript> newest = turn.source.latest(clock_.now());
  return newest && newest->revision > heard.revision;
}

GenerationConfig Session::answer_config(const Turn& turn) const {
  return {.max_new_tokens = config_.turn.max_new_tokens,
          .stop_tokens = tokenizer_.stop_tokens(),
          .sampler = turn.sampler,
          .constraint = turn.constraint,
          .should_stop = [&] { return turn.stop.stop_requested(); }};
}

}  // namespace predgen
