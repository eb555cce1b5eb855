#include "runtime/converse/session.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"
#include "runtime/converse/answer_reader.h"
#include "text/stop_tokens.h"

namespace predgen {
namespace {

void check_at_least(int64_t minimum, int64_t value, const char* name) {
  if (value < minimum) throw UserError("{} is {}, but must be at least {}", name, value, minimum);
}

/// Synthesis waits while this lives: the language model has a verification to run.
class SynthesisPause {
 public:
  explicit SynthesisPause(Speaker& speaker) : speaker_(speaker) { speaker.give_way(true); }
  ~SynthesisPause() { end(); }
  SynthesisPause(const SynthesisPause&) = delete;
  SynthesisPause& operator=(const SynthesisPause&) = delete;
  void end() {
    if (std::exchange(active_, false)) speaker_.give_way(false);
  }

 private:
  Speaker& speaker_;
  bool active_ = true;
};

}  // namespace

/// What belongs to the turn under way.
struct Session::Turn {
  TranscriptSource& source;
  const TurnObserver& observer;
  const std::stop_token& stop;
  TurnResult result{};
  /// Tokens of the draft's first sentence; all of them while it is not whole.
  int64_t first_sentence = std::numeric_limits<int64_t>::max();
};

Session::Session(const SessionConfig& config, Engine& engine, const Tokenizer& tokenizer,
                 std::unique_ptr<Speaker> speaker, Clock& clock)
    : config_(config),
      engine_(engine),
      tokenizer_(tokenizer),
      speaker_(std::move(speaker)),
      clock_(clock),
      history_(tokenizer, config.system_prompt),
      verifier_(make_verifier(config.verifier)),
      generator_(make_generator(config.generator, engine)),
      speculator_(engine, *verifier_, *generator_, config.max_context) {
  check_at_least(1, config.turn.max_draft_tokens, "max_draft_tokens");
  check_at_least(0, config.turn.first_round_tokens, "first_round_tokens");
  check_at_least(0, config.turn.later_round_tokens, "later_round_tokens");
  check_at_least(1, config.turn.max_new_tokens, "max_new_tokens");
}

void Session::set_verifier(const VerifierConfig& verifier) {
  verifier_ = make_verifier(verifier);
  config_.verifier = verifier;
  speculator_.use(*verifier_, *generator_);
}

void Session::set_generator(const GeneratorConfig& generator) {
  generator_ = make_generator(generator, engine_);
  config_.generator = generator;
  speculator_.use(*verifier_, *generator_);
}

void Session::set_history(const std::vector<Message>& history) {
  history_.replace(history);
  speculator_.reset_answer();
  const TokenIds tokens = history_.tokens(room());
  if (!tokens.empty()) speculator_.prefill(tokens);
}

History::Room Session::room() const {
  const int64_t context_length = speculator_.context_length();
  // A small context is not left to answers that are seldom that long.
  return {context_length, std::min(config_.turn.max_new_tokens, context_length / 8)};
}

std::optional<TurnResult> Session::run_turn(TranscriptSource& source, const TurnObserver& observer,
                                            const std::stop_token& stop) {
  Turn turn{.source = source, .observer = observer, .stop = stop};
  try {
    return run(turn);
  } catch (const Interrupted&) {
    speaker_->cancel_turn();
    throw;
  }
}

std::optional<TurnResult> Session::run(Turn& turn) {
  TurnResult& result = turn.result;
  const int64_t passes_before = speculator_.num_forward_passes();
  speculator_.reset_answer();
  const int64_t tokens_before = speculator_.num_tokens();
  // A failure ends the turn, not the conversation: the first one is kept.
  const auto attempt = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      if (!result.error) result.error = first_line(error.what());
    }
  };
  for (int64_t revision = 0;;) {
    const std::optional<Transcript> heard = turn.source.wait_newer(revision, clock_);
    if (!heard) {
      if (revision > 0) speaker_->finish_turn(turn.stop);
      return std::nullopt;
    }
    revision = heard->revision;
    turn.observer.on_transcript(*heard);
    result.events.push_back({heard->time, heard->is_final ? "final" : "transcript", heard->text});
    if (!heard->is_final) {
      if (!result.error) attempt([&] { work_ahead(*heard, turn); });
      continue;
    }
    result.prompt_text = heard->text;
    result.metrics.speculative_nfe = speculator_.num_forward_passes() - passes_before;
    if (!result.error) attempt([&] { answer(*heard, turn); });
    attempt([&] { finish_speech(*heard, turn); });  // nothing is left for the next turn to say
    break;
  }
  result.metrics.total_nfe = speculator_.num_forward_passes() - passes_before;
  if (result.error) {
    result.events.push_back({clock_.now(), "failed", *result.error});
    speculator_.roll_back(tokens_before);
  } else {
    remember(result);
  }
  return result;
}

void Session::work_ahead(const Transcript& heard, Turn& turn) {
  if (config_.turn.work == InputTimeWork::kCascade || is_blank(heard.text)) return;
  const TokenIds prompt = history_.prompt(heard.text, room()).ids;
  // The final transcript may be shorter; if not, it is the one that is refused, in every method.
  if (static_cast<int64_t>(prompt.size()) > speculator_.context_length()) return;
  if (config_.turn.work == InputTimeWork::kPrefill) {
    speculator_.prefill(prompt, {.priority = Priority::kSpeculative,
                                 .should_stop = [&] { return is_outdated(heard, turn); }});
  } else {
    draft_answer(heard, prompt, turn);
  }
}

bool Session::is_outdated(const Transcript& heard, const Turn& turn) const {
  throw_if_stopped(turn.stop);
  const std::optional<Transcript> newest = turn.source.latest(clock_.now());
  return newest && newest->revision > heard.revision;
}

void Session::draft_answer(const Transcript& heard, TokenSpan prompt, Turn& turn) {
  AnswerReader reader(tokenizer_, config_.turn.split_mode);
  std::optional<SentenceSplitter::Sentence> sentence;
  const auto take = [&](const AnswerReader::Progress& progress) {
    if (sentence || progress.sentences.empty()) return;
    sentence = progress.sentences.front();
    speaker_->prepare(sentence->text);
    turn.observer.on_first_sentence(sentence->text);
  };
  const GenerationConfig generation{
      .max_new_tokens = std::min(config_.turn.max_draft_tokens, config_.turn.max_new_tokens),
      .stop_tokens = tokenizer_.stop_tokens(),
      .priority = Priority::kSpeculative,
      .should_stop = [&] { return is_outdated(heard, turn); }};
  SpeculationLimits limits{.first_sentence = turn.first_sentence};
  const int64_t round_tokens = speculator_.answer().empty() ? config_.turn.first_round_tokens
                                                            : config_.turn.later_round_tokens;
  if (round_tokens > 0) limits.max_added = round_tokens;
  SynthesisPause pause(*speaker_);  // until the first pass, the verification, is through
  std::optional<size_t> accepted_bytes;
  const SpeculationStep step = speculator_.update(
      prompt, heard.text, generation,
      [&](TokenSpan tokens) {
        pause.end();
        take(reader.push(tokens));
        if (!accepted_bytes) accepted_bytes = reader.text().size();
        turn.observer.on_draft(reader.text(), *accepted_bytes);
        return !sentence && !is_outdated(heard, turn);
      },
      limits);
  if (!accepted_bytes) return;  // stopped before the draft was verified
  // An answer without a full stop is a sentence when it ends, not when the draft is cut.
  if (step.generation.stop_reason == StopReason::kStopToken) take(reader.finish());
  turn.first_sentence = sentence ? sentence->num_tokens : std::numeric_limits<int64_t>::max();
  turn.result.metrics.spec_tokens_drafted +=
      static_cast<int64_t>(speculator_.answer().size()) - step.num_accepted;
  turn.result.events.push_back({clock_.now(), "draft", reader.text()});
}

void Session::answer(const Transcript& heard, Turn& turn) {
  TurnResult& result = turn.result;
  TurnMetrics& metrics = result.metrics;
  const Seconds verification_start = clock_.now();
  const int64_t passes_before = speculator_.num_forward_passes();
  AnswerReader reader(tokenizer_, config_.turn.split_mode);
  const auto take = [&](const AnswerReader::Progress& progress) {
    if (!progress.text.empty()) turn.observer.on_text(progress.text);
    for (const SentenceSplitter::Sentence& sentence : progress.sentences) {
      const Seconds now = clock_.now();
      const bool is_first = !metrics.ttfs;
      if (is_first) {
        metrics.ttfs = (now - heard.time).count();
        metrics.ttfs_paper = (now - verification_start).count();
        metrics.nfe_to_first_sentence = speculator_.num_forward_passes() - passes_before;
        result.first_sentence = sentence.text;
        result.first_sentence_tokens = sentence.num_tokens;
      }
      result.events.push_back({now, is_first ? "first_sentence" : "sentence", sentence.text});
      speaker_->say(sentence.text);
    }
  };
  History::Prompt prompt = history_.prompt(heard.text, room());
  result.prompt = std::move(prompt.ids);
  if (result.dropped_rounds = prompt.dropped_rounds; result.dropped_rounds > 0) {
    result.events.push_back(
        {clock_.now(), "rounds_dropped", std::to_string(result.dropped_rounds)});
    turn.observer.on_rounds_dropped(result.dropped_rounds);
  }
  const GenerationConfig generation{.max_new_tokens = config_.turn.max_new_tokens,
                                    .stop_tokens = tokenizer_.stop_tokens(),
                                    .should_stop = [&] { return turn.stop.stop_requested(); }};
  SynthesisPause pause(*speaker_);  // until the first pass, the verification, is through
  const SpeculationStep step = speculator_.update(result.prompt, heard.text, generation,
                                                  [&](TokenSpan tokens) {
                                                    pause.end();
                                                    throw_if_stopped(turn.stop);
                                                    take(reader.push(tokens));
                                                    return true;
                                                  },
                                                  {.first_sentence = turn.first_sentence});
  throw_if_stopped(turn.stop);
  take(reader.finish());
  result.answer.assign(speculator_.answer().begin(), speculator_.answer().end());
  result.text = reader.text();
  result.events.push_back({clock_.now(), "done", result.text});

  metrics.first_sentence_kept =
      metrics.ttfs.has_value() && result.first_sentence_tokens <= step.num_accepted;
  metrics.spec_tokens_accepted = step.num_accepted;
  metrics.spec_tokens_wasted = metrics.spec_tokens_drafted - step.num_accepted;
}

void Session::finish_speech(const Transcript& heard, Turn& turn) {
  const SpeechReport speech = speaker_->finish_turn(turn.stop);
  if (speech.error) throw Error("{}", *speech.error);
  TurnMetrics& metrics = turn.result.metrics;
  if (!metrics.ttfs) return;
  if (speech.first_audio) metrics.audio_latency = (*speech.first_audio - heard.time).count();
  const Seconds lead = speech.ready_ahead ? heard.time - *speech.ready_ahead : Seconds(0);
  metrics.lead_time = std::max(lead.count(), 0.0);
}

void Session::remember(const TurnResult& result) {
  const TokenSpan ids = without_stop_token(result.answer, tokenizer_.stop_tokens());
  history_.drop(result.dropped_rounds);
  history_.add({.role = "user", .content = result.prompt_text});
  history_.add(
      {.role = "assistant", .content = result.text, .ids = TokenIds(ids.begin(), ids.end())});
}

}  // namespace predgen
