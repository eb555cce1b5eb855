#include "runtime/converse/turn_answer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/stop.h"
#include "runtime/speech/speaker.h"
#include "text/token_ids.h"
#include "text/words.h"

namespace predgen {
namespace {

constexpr int64_t kMostBegun = 3;  // in a turn: LiveKit's max_retries

}  // namespace

bool PreemptiveAnswer::is_overtaken(const Transcript& heard) const {
  throw_if_stopped(turn_.stop);
  const std::optional<Transcript> newest = turn_.source.latest(session_.clock.now());
  if (!newest || newest->revision <= heard.revision) return false;
  return newest->is_final || bare_words(newest->text) != begun_->words;
}

void PreemptiveAnswer::work_on(const Transcript& heard) {
  std::string words = bare_words(heard.text);
  if (begun_ && begun_->words != words) drop();
  if (!begun_) {
    if (!heard.is_stable || words.empty() || num_begun_ == kMostBegun) return;
    History::Prompt rendered = session_.prompt(heard.text);
    // As for a draft: if the final transcript is too long as well, that one is refused.
    if (std::ssize(rendered.ids) > session_.speculator.context_length()) return;
    begun_ = {.words = std::move(words), .prompt = std::move(rendered.ids)};
    ++num_begun_;
  }
  if (!begun_->is_whole) go_on(heard);
}

void PreemptiveAnswer::go_on(const Transcript& heard) {
  AnswerReader reader(session_.tokenizer, session_.config.turn.split_mode, session_.config.tools,
                      answer_start(session_.tokenizer, begun_->prompt));
  SpokenOpening opening(session_.config.turn.speaks_clauses);
  const auto take = [&](const AnswerReader::Progress& progress) {
    if (session_.drafts.now().sentence_ready) return;
    turn_.follow_draft(reader, progress.sentences, opening, /*is_told=*/true);
  };
  GenerationConfig generation = turn_.answer_config();
  generation.priority = Priority::kSpeculative;
  generation.should_stop = [&] { return is_overtaken(heard); };
  std::optional<size_t> accepted_bytes;
  const SpeculationStep step =
      session_.speculator.update(begun_->prompt, heard.text, generation, [&](TokenSpan tokens) {
        take(reader.push(tokens));
        if (!accepted_bytes) accepted_bytes = reader.text().size();
        turn_.observer.on_draft(reader.text(), *accepted_bytes);
        return !is_overtaken(heard);
      });
  if (!accepted_bytes) return;  // stopped within a long prompt
  begun_->is_whole = step.generation.stop_reason != StopReason::kCancelled;
  if (begun_->is_whole) take(reader.finish());
  turn_.result.metrics.spec_tokens_drafted +=
      std::ssize(session_.speculator.answer()) - step.num_accepted;
  turn_.note(session_.clock.now(), TurnEvent::Kind::kDraft, reader.text());
}

void PreemptiveAnswer::drop() {
  begun_.reset();
  session_.drafts.now().sentence_ready.reset();
  session_.speculator.reset_answer();
  if (Speaker* const speaker = session_.ahead()) {
    speak([&] { speaker->prepare(""); });  // cancels the other
  }
}

const TokenIds* PreemptiveAnswer::keep(const Transcript& heard) {
  if (begun_ && begun_->words != bare_words(heard.text)) drop();
  return begun_ ? &begun_->prompt : nullptr;
}

namespace {

constexpr size_t kStuckTokens = 16;  // between two checks whether an answer is stuck

/// When the last draft was made; nullopt: there is none.
std::optional<Seconds> drafted_at(const std::vector<TurnEvent>& events) {
  const auto last = std::find_if(events.rbegin(), events.rend(), [](const TurnEvent& event) {
    return event.kind == TurnEvent::Kind::kDraft;
  });
  return last == events.rend() ? std::nullopt : std::optional(last->time);
}

}  // namespace

TokenIds TurnAnswer::prompt(const Transcript& heard) {
  History::Prompt rendered = session_.prompt(heard.text);
  TurnResult& result = turn_.result;
  if (result.dropped_rounds = rendered.dropped_rounds; result.dropped_rounds > 0) {
    turn_.note(session_.clock.now(), TurnEvent::Kind::kRoundsDropped,
               std::to_string(result.dropped_rounds));
    turn_.observer.on_rounds_dropped(result.dropped_rounds);
  }
  return std::move(rendered.ids);
}

void TurnAnswer::give(const Transcript& heard) {
  TurnResult& result = turn_.result;
  turn_ended_ = heard.time;
  begin_ = session_.clock.now();
  passes_ = session_.speculator.num_forward_passes();
  draft_passes_ = turn_.num_draft_model_passes();
  result.prompt = prompt(heard);
  const TokenIds* const begun = begun_.keep(heard);
  const TokenIds& answered = begun != nullptr ? *begun : result.prompt;
  result.answers_partial = answered != result.prompt;
  const SessionConfig& config = session_.config;
  reader_.emplace(session_.tokenizer, config.turn.split_mode, config.tools,
                  answer_start(session_.tokenizer, answered));
  opening_.emplace(config.turn.speaks_clauses);
  const DraftedRounds::Round& drafted = session_.drafts.enter(turn_.round, answered);
  SynthesisPause pause(session_.voice);  // until the first pass, the verification, is done
  turn_.pace.begin(begin_, passes_);
  const SpeculationStep step =
      session_.speculator.update(answered, heard.text, turn_.answer_config(),
                                 [&](TokenSpan tokens) {
                                   pause.end();
                                   throw_if_stopped(turn_.stop);
                                   turn_.note_tokens(tokens);
                                   return follow(tokens);
                                 },
                                 {.first_sentence = drafted.first_sentence});
  throw_if_stopped(turn_.stop);
  take(reader_->finish());
  note_end(step);
}

bool TurnAnswer::follow(TokenSpan tokens) {
  const auto& is_stuck = session_.config.turn.is_stuck;
  TokenIds& answer = turn_.result.answer;
  while (!tokens.empty()) {
    const size_t room =
        is_stuck ? kStuckTokens - answer.size() % kStuckTokens : std::numeric_limits<size_t>::max();
    const TokenSpan next = tokens.first(std::min(tokens.size(), room));
    answer.insert(answer.end(), next.begin(), next.end());
    take(reader_->push(next));
    repeats_ = next.size() == room && is_stuck(answer, reader_->text());
    if (repeats_) return false;
    tokens = tokens.subspan(next.size());
  }
  return true;
}

void TurnAnswer::take(const AnswerReader::Progress& progress) {
  TurnResult& result = turn_.result;
  result.thought += progress.thought;
  result.thought_tokens = reader_->num_thought_tokens();
  result.text += progress.text;
  if (!progress.text.empty()) turn_.observer.on_text(progress.text);
  std::ranges::copy(progress.calls, std::back_inserter(result.calls));
  if (!result.metrics.ttfs) {
    if (const auto clause = opening_->next_clause(reader_->spoken())) say(*clause);
  }
  for (const SentenceSplitter::Sentence& sentence : progress.sentences) take_sentence(sentence);
}

void TurnAnswer::take_sentence(const SentenceSplitter::Sentence& sentence) {
  TurnResult& result = turn_.result;
  TurnMetrics& metrics = result.metrics;
  const Seconds now = session_.clock.now();
  const bool is_first = !metrics.ttfs;
  if (is_first) {
    metrics.ttfs = (now - turn_ended_).count();
    metrics.ttfs_paper = (now - begin_).count();
    metrics.nfe_to_first_sentence = session_.speculator.num_forward_passes() - passes_;
    // A draft as long as the answer may be has its first sentence, full stop or not.
    const auto whole = session_.drafts.now().sentence_ready;
    const auto ready = whole ? whole : drafted_at(result.events);
    metrics.ready_before_end = metrics.nfe_to_first_sentence == 0 && ready && *ready <= turn_ended_;
    metrics.draft_model_nfe_to_first_sentence = turn_.num_draft_model_passes() - draft_passes_;
    result.first_sentence = sentence.text;
    result.first_sentence_tokens = sentence.num_tokens;
  }
  turn_.note(now, is_first ? TurnEvent::Kind::kFirstSentence : TurnEvent::Kind::kSentence,
             sentence.text);
  say(is_first ? opening_->rest_of(sentence.text) : sentence.text);
}

void TurnAnswer::say(const std::string& text) {
  TurnMetrics& metrics = turn_.result.metrics;
  if (!metrics.first_words) metrics.first_words = (session_.clock.now() - turn_ended_).count();
  speak([&] { session_.voice.say(text); });
}

void TurnAnswer::note_end(const SpeculationStep& step) {
  TurnResult& result = turn_.result;
  result.stop_reason = step.generation.stop_reason;
  // The pass that found it may have found the answer's end, too, which is then not part of it.
  const TokenIds& stops = session_.tokenizer.stop_tokens();
  const bool is_whole = !result.answer.empty() && is_stop_token(stops, result.answer.back());
  if (repeats_) result.stop_reason = is_whole ? StopReason::kStopToken : StopReason::kRepetition;
  turn_.note(session_.clock.now(), TurnEvent::Kind::kDone, result.text);

  TurnMetrics& metrics = result.metrics;
  metrics.first_sentence_kept =
      metrics.ttfs.has_value() && result.first_sentence_tokens <= step.num_accepted;
  metrics.spec_tokens_accepted = step.num_accepted;
  metrics.spec_tokens_wasted = metrics.spec_tokens_drafted - step.num_accepted;
}

void TurnAnswer::finish_speech(const Transcript& heard) {
  SpeechReport speech;
  speak([&] {
    const EngineLock::Release rest(session_.config.rests);
    speech = session_.voice.finish_turn(turn_.stop);
  });
  if (speech.error) throw TurnFailure(TurnError::Kind::kVoice, *speech.error);
  TurnMetrics& metrics = turn_.result.metrics;
  if (!metrics.ttfs) return;
  if (speech.first_audio) metrics.audio_latency = (*speech.first_audio - heard.time).count();
  Seconds sound{0};
  if (speech.ready_ahead && turn_.prepared) {
    sound = *speech.ready_ahead - turn_.prepared->time;
  } else if (metrics.audio_latency) {
    sound = Seconds(*metrics.audio_latency - *metrics.first_words);
  }
  const Seconds lead = speech.ready_ahead ? heard.time - *speech.ready_ahead : Seconds(0);
  metrics.lead_time = std::max(lead.count(), 0.0);
  if (!turn_.result.error) note_pause(heard, sound);
}

void TurnAnswer::note_pause(const Transcript& heard, Seconds sound) {
  const std::optional<Seconds> sentence = turn_.pace.of(turn_.result.first_sentence_tokens);
  if (!sentence) return;
  const bool is_told = turn_.paused && bare_words(turn_.paused->text) == bare_words(heard.text);
  session_.pauses.add(is_told ? heard.time - turn_.paused->time : Seconds(0), *sentence + sound);
}

}  // namespace predgen
