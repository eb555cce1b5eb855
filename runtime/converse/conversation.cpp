#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/turn.h"

namespace predgen {
namespace {

void check_at_least(int64_t minimum, int64_t value, const char* name) {
  if (value < minimum) throw UserError("{} is {}, but must be at least {}", name, value, minimum);
}

}  // namespace

Conversation::Conversation(const TurnConfig& config, const Tokenizer& tokenizer,
                           InputTimeSpeculator& speculator, Speaker& speaker, Clock& clock,
                           const std::string& system_prompt, std::stop_token stop)
    : config_(config),
      tokenizer_(tokenizer),
      speculator_(speculator),
      speaker_(speaker),
      clock_(clock),
      history_(tokenizer, system_prompt),
      stop_(std::move(stop)) {
  check_at_least(1, config.max_draft_tokens, "max_draft_tokens");
  check_at_least(0, config.first_round_tokens, "first_round_tokens");
  check_at_least(0, config.later_round_tokens, "later_round_tokens");
  check_at_least(1, config.max_new_tokens, "max_new_tokens");
}

void Conversation::set_history(const std::vector<Message>& history) {
  history_.replace(history);
  speculator_.reset_answer();
  const TokenIds tokens = history_.tokens(room());
  if (!tokens.empty()) speculator_.prefill(tokens);
}

History::Room Conversation::room() const {
  const int64_t context_length = speculator_.context_length();
  // A small context is not left to answers that are seldom that long.
  return {context_length, std::min(config_.max_new_tokens, context_length / 8)};
}

std::optional<TurnResult> Conversation::run_turn(TranscriptSource& source,
                                                 const TurnObserver& observer) {
  TurnResult result;
  const int64_t passes_before = speculator_.num_forward_passes();
  speculator_.reset_answer();
  for (int64_t revision = 0;;) {
    const std::optional<Transcript> heard = source.wait_newer(revision, clock_);
    if (!heard) {
      if (revision > 0) speaker_.finish_turn();
      return std::nullopt;
    }
    revision = heard->revision;
    observer.on_transcript(*heard);
    result.events.push_back({heard->time, heard->is_final ? "final" : "transcript", heard->text});
    if (heard->is_final) {
      result.metrics.speculative_nfe = speculator_.num_forward_passes() - passes_before;
      answer(*heard, observer, result);
      break;
    }
    work_ahead(*heard, source, observer, result);
  }
  result.metrics.total_nfe = speculator_.num_forward_passes() - passes_before;
  remember(result);
  return result;
}

void Conversation::work_ahead(const Transcript& heard, TranscriptSource& source,
                              const TurnObserver& observer, TurnResult& result) {
  if (config_.work == InputTimeWork::kCascade || is_blank(heard.text)) return;
  const TokenIds prompt = history_.prompt(heard.text, room()).ids;
  // The final transcript may be shorter; if not, it is the one that is refused, in every method.
  if (static_cast<int64_t>(prompt.size()) > speculator_.context_length()) return;
  if (config_.work == InputTimeWork::kPrefill) {
    speculator_.prefill(prompt);
  } else {
    draft_answer(heard, prompt, source, observer, result);
  }
}

void Conversation::draft_answer(const Transcript& heard, TokenSpan prompt, TranscriptSource& source,
                                const TurnObserver& observer, TurnResult& result) {
  AnswerReader reader(tokenizer_, config_.split_mode);
  bool has_sentence = false;
  const auto take = [&](const AnswerReader::Progress& progress) {
    if (has_sentence || progress.sentences.empty()) return;
    has_sentence = true;
    speaker_.prepare(progress.sentences.front().text);
  };
  const GenerationConfig generation{
      .max_new_tokens = std::min(config_.max_draft_tokens, config_.max_new_tokens),
      .stop_tokens = tokenizer_.stop_tokens()};
  const int64_t limit =
      speculator_.answer().empty() ? config_.first_round_tokens : config_.later_round_tokens;
  speaker_.give_way(true);  // until the first pass, the verification, is through
  const SpeculationStep step = speculator_.update(
      prompt, heard.text, generation,
      [&](TokenSpan tokens) {
        speaker_.give_way(false);
        throw_if_stopped(stop_);
        take(reader.push(tokens));
        observer.on_draft(reader.text());
        const std::optional<Transcript> newest = source.latest(clock_.now());
        return !has_sentence && !(newest && newest->revision > heard.revision);
      },
      limit > 0 ? limit : std::numeric_limits<int64_t>::max());
  // An answer without a full stop is a sentence when it ends, not when the draft is cut.
  if (step.generation.stop_reason == StopReason::kStopToken) take(reader.finish());
  result.metrics.spec_tokens_drafted +=
      static_cast<int64_t>(speculator_.answer().size()) - step.num_accepted;
  result.events.push_back({clock_.now(), "draft", reader.text()});
}

void Conversation::answer(const Transcript& heard, const TurnObserver& observer,
                          TurnResult& result) {
  TurnMetrics& metrics = result.metrics;
  const Seconds verification_start = clock_.now();
  const int64_t passes_before = speculator_.num_forward_passes();
  AnswerReader reader(tokenizer_, config_.split_mode);
  const auto take = [&](const AnswerReader::Progress& progress) {
    if (!progress.text.empty()) observer.on_text(progress.text);
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
      speaker_.say(sentence.text);
    }
  };
  result.prompt_text = heard.text;
  History::Prompt prompt = history_.prompt(heard.text, room());
  result.prompt = std::move(prompt.ids);
  if (result.dropped_rounds = prompt.dropped_rounds; result.dropped_rounds > 0) {
    result.events.push_back(
        {clock_.now(), "rounds_dropped", std::to_string(result.dropped_rounds)});
    observer.on_rounds_dropped(result.dropped_rounds);
  }
  const GenerationConfig generation{.max_new_tokens = config_.max_new_tokens,
                                    .stop_tokens = tokenizer_.stop_tokens()};
  speaker_.give_way(true);  // until the first pass, the verification, is through
  const SpeculationStep step =
      speculator_.update(result.prompt, heard.text, generation, [&](TokenSpan tokens) {
        speaker_.give_way(false);
        throw_if_stopped(stop_);
        take(reader.push(tokens));
        return true;
      });
  take(reader.finish());
  result.answer.assign(speculator_.answer().begin(), speculator_.answer().end());
  result.text = reader.text();
  result.events.push_back({clock_.now(), "done", result.text});

  metrics.first_sentence_kept =
      metrics.ttfs.has_value() && result.first_sentence_tokens <= step.num_accepted;
  metrics.spec_tokens_accepted = step.num_accepted;
  metrics.spec_tokens_wasted = metrics.spec_tokens_drafted - step.num_accepted;

  const SpeechReport speech = speaker_.finish_turn();
  if (!metrics.ttfs) return;
  if (speech.first_audio) metrics.audio_latency = (*speech.first_audio - heard.time).count();
  const Seconds lead = speech.ready_ahead ? heard.time - *speech.ready_ahead : Seconds(0);
  metrics.lead_time = std::max(lead.count(), 0.0);
}

void Conversation::remember(const TurnResult& result) {
  const TokenIds& stops = tokenizer_.stop_tokens();
  TokenIds ids = result.answer;
  if (!ids.empty() && std::ranges::find(stops, ids.back()) != stops.end()) ids.pop_back();
  history_.drop(result.dropped_rounds);
  history_.add({.role = "user", .content = result.prompt_text});
  history_.add({.role = "assistant", .content = result.text, .ids = std::move(ids)});
}

}  // namespace predgen
