#include "runtime/converse/session.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/stop.h"
#include "runtime/converse/current_turn.h"
#include "runtime/converse/turn_answer.h"
#include "runtime/converse/turn_drafts.h"

namespace predgen {
namespace {

/// What other answers may cost beside the last one in a pass that verifies both, in single-token
/// passes.
constexpr double kOtherSteps = 1;
/// Tokens are cheap if this many more cost no more than that.
constexpr int64_t kCheapTokens = 16;

SpeculationConfig affordable(const SessionConfig& config) {
  SpeculationConfig speculation = config.speculation;
  const int64_t num_tokens = config.generator.costs.tokens_for(kOtherSteps);
  if (speculation.only_if_cheap && num_tokens < kCheapTokens) speculation = {.in_parts = true};
  speculation.costs = config.generator.costs;
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
  const EngineLock::Release rest(
      config_.rests);  // the old one's voice may be in the middle of a step
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
    throw UserError("the model's chat template has an unknown form of calls");
  }
  history_.set_tools(tools);
  config_.tools = tools;
}

void Session::say_aside(const std::string& text, const std::stop_token& stop) {
  speak([&] {
    voice().say(text);
    const EngineLock::Release rest(config_.rests);
    if (const SpeechReport report = voice().finish_turn(stop); report.error) {
      throw Error("{}", *report.error);
    }
  });
}

void Session::say_answer(const std::string& text, const std::stop_token& stop) {
  history_.add({.role = "assistant", .content = text});
  last_answer_ = {.text = text, .has_sound = voice().spoken().has_value(), .is_said = true};
  say_aside(text, stop);
}

void Session::set_history(const std::vector<Message>& history, const std::stop_token& stop) {
  replace_history(history);
  speculator_.reset_answer();
  const TokenIds tokens = history_tokens();
  if (tokens.empty()) return;
  speculator_.prefill(tokens, {.should_stop = [&stop] { return stop.stop_requested(); }});
  if (!stop.stop_requested()) generator_->prefill(tokens);
}

std::string Session::last_words() const {
  const std::vector<Message> rounds = history_.rounds();
  const auto last = std::ranges::find(rounds.rbegin(), rounds.rend(), "user", &Message::role);
  return last != rounds.rend() ? last->content : "";
}

TokenIds Session::opening() const {
  const EngineLock::Release rest(config_.rests);
  return history_.opening();
}

SessionParts Session::parts() {
  return {.config = config_,
          .pauses = config_.pauses,
          .tokenizer = tokenizer_,
          .history = history_,
          .speculator = speculator_,
          .drafts = drafts_,
          .early = early_,
          .end_by_words = end_by_words_,
          .voice = voice(),
          .clock = clock_};
}

TokenIds Session::history_tokens() {
  const EngineLock::Release rest(config_.rests);
  return history_.tokens(parts().room());
}

std::optional<TurnResult> Session::run_turn(TranscriptSource& source, const TurnObserver& observer,
                                            const std::stop_token& stop, size_t round) {
  CurrentTurn turn{
      .session = parts(), .source = source, .observer = observer, .stop = stop, .round = round};
  turn.result.number = next_turn_++;
  if (round > 0) turn.words = last_words();
  try {
    return run(turn);
  } catch (const Interrupted&) {
    voice().cancel_turn();
    if (turn.has_spoken()) last_answer_.reset();
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

std::optional<TurnResult> Session::run(CurrentTurn& turn) {
  TurnDrafts drafts(turn);
  PreemptiveAnswer begun(turn);
  TurnAnswer answer(turn, begun);
  TurnResult& result = turn.result;
  const int64_t passes_before = speculator_.num_forward_passes();
  const int64_t draft_model_before = turn.num_draft_model_passes();
  if (turn.round == 0) {
    drafts_.clear();
    speculator_.reset_answer();
  }
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
    turn.hear(heard->text);
    if (heard->is_stable) turn.paused = heard;
    turn.note(heard->time, heard->is_final ? TurnEvent::Kind::kFinal : TurnEvent::Kind::kTranscript,
              heard->text);
    if (!heard->is_final) {
      if (result.error) continue;
      attempt([&] {
        try {
          if (config_.turn.work == InputTimeWork::kPreempt) return begun.work_on(*heard);
          drafts.work_on(*heard);
        } catch (const DeadEnd& error) {  // the answer to the final words need not come to it
          turn.note(clock_.now(), TurnEvent::Kind::kNotExplored, first_line(error.what()));
        }
      });
      continue;
    }
    result.prompt_text = heard->text;
    result.metrics.speculative_nfe = speculator_.num_forward_passes() - passes_before;
    result.metrics.draft_model_speculative_nfe = turn.num_draft_model_passes() - draft_model_before;
    if (!result.error) attempt([&] { answer.give(*heard); });
    const bool goes_on = early_ && !result.error && !result.calls.empty() && !turn.has_spoken();
    // Nothing is left for the next turn to say, unless it goes on with this answer.
    if (!goes_on) attempt([&] { answer.finish_speech(*heard); });
    break;
  }
  result.metrics.total_nfe = speculator_.num_forward_passes() - passes_before;
  result.metrics.draft_model_total_nfe = turn.num_draft_model_passes() - draft_model_before;
  if (turn.has_spoken()) last_answer_.reset();
  if (result.error) {
    turn.note(clock_.now(), TurnEvent::Kind::kFailed, result.error->text);
    // What it has said so far must not be heard before the next answer.
    if (turn.has_spoken()) voice().cancel_turn();
    speculator_.roll_back(tokens_before);
  } else {
    remember(result);
  }
  return result;
}

void Session::remember(const TurnResult& result) {
  history_.drop(result.dropped_rounds);
  if (!History::goes_on_without(result.prompt_text)) {
    history_.add({.role = "user", .content = result.prompt_text});
  }
  history_.add(answer_message(result, tokenizer_.stop_tokens()));
  last_answer_ = {.text = result.text,
                  .has_sound = voice().spoken().has_value(),
                  .is_said = result.metrics.first_words.has_value()};
}

std::string Session::interrupt(std::optional<Seconds> heard) {
  voice().cancel_turn();
  return keep_heard(heard);
}

std::string Session::keep_heard(std::optional<Seconds> heard) {
  if (!last_answer_) return {};
  std::optional<SpokenAnswer> spoken = voice().spoken();
  if (!last_answer_->has_sound || !spoken) return last_answer_->text;
  if (!last_answer_->is_said) *spoken = {};
  const bool is_other_voice = last_answer_->is_said && spoken->sentences.empty();
  if (is_other_voice) return last_answer_->text;
  if (heard) last_answer_->heard = heard;
  if (last_answer_->heard) spoken->played = *last_answer_->heard;
  std::string text = heard_text(last_answer_->text, *spoken);
  history_.cut_answer(text);
  if (text.empty()) last_answer_.reset();
  return text;
}

}  // namespace predgen
