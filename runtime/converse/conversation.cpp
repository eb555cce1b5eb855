#include <algorithm>

#include "core/error.h"
#include "core/interrupt.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/turn.h"

namespace predgen {
namespace {

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

Conversation::Conversation(const TurnConfig& config, const Tokenizer& tokenizer,
                           InputTimeSpeculator& speculator, Speaker& speaker, Clock& clock,
                           const std::string& system_prompt)
    : config_(config),
      tokenizer_(tokenizer),
      speculator_(speculator),
      speaker_(speaker),
      clock_(clock),
      system_prompt_(system_prompt) {
  if (config.max_draft_tokens < 1) {
    throw UserError("max_draft_tokens is {}, but must be at least 1", config.max_draft_tokens);
  }
  if (config.max_new_tokens < 1) {
    throw UserError("max_new_tokens is {}, but must be at least 1", config.max_new_tokens);
  }
  if (!system_prompt_.empty()) history_.push_back({.role = "system", .content = system_prompt_});
}

void Conversation::set_history(const std::vector<Message>& history) {
  history_.clear();
  if (!system_prompt_.empty()) history_.push_back({.role = "system", .content = system_prompt_});
  history_.insert(history_.end(), history.begin(), history.end());
  speculator_.reset_answer();
  if (!history_.empty()) {
    speculator_.prefill(tokenizer_.render_chat(history_, /*add_generation_prompt=*/false));
  }
}

TokenIds Conversation::render(const std::string& user_text) const {
  std::vector<Message> messages = history_;
  messages.push_back({.role = "user", .content = user_text});
  return tokenizer_.render_chat(messages);
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
  if (is_blank(heard.text)) return;
  switch (config_.work) {
    case InputTimeWork::kCascade:
      return;
    case InputTimeWork::kPrefill:
      speculator_.prefill(render(heard.text));
      return;
    case InputTimeWork::kSpeculate:
      draft_answer(heard, source, observer, result);
      return;
  }
}

void Conversation::draft_answer(const Transcript& heard, TranscriptSource& source,
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
  const SpeculationStep step =
      speculator_.update(render(heard.text), heard.text, generation, [&](TokenSpan tokens) {
        throw_if_interrupted();
        take(reader.push(tokens));
        observer.on_draft(reader.text());
        const std::optional<Transcript> newest = source.latest(clock_.now());
        return !has_sentence && !(newest && newest->revision > heard.revision);
      });
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
  result.prompt = render(heard.text);
  const GenerationConfig generation{.max_new_tokens = config_.max_new_tokens,
                                    .stop_tokens = tokenizer_.stop_tokens()};
  const SpeculationStep step =
      speculator_.update(result.prompt, heard.text, generation, [&](TokenSpan tokens) {
        throw_if_interrupted();
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
  history_.push_back({.role = "user", .content = result.prompt_text});
  history_.push_back({.role = "assistant", .content = result.text, .ids = std::move(ids)});
}

}  // namespace predgen
