#include <algorithm>
#include <iterator>
#include <limits>

#include "core/stop.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/session_turn.h"
#include "runtime/speech/synthesis_pause.h"
#include "text/bare_words.h"
#include "text/stop_tokens.h"

// What a session does with a turn once its words are final.
namespace predgen {
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

void speak(const std::function<void()>& work) {
  try {
    work();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    throw TurnFailure(TurnError::Kind::kVoice, error.what());
  }
}

int64_t Session::num_draft_model_passes() const {
  const Engine* draft_model = config_.generator.draft_model;
  return draft_model ? draft_model->num_forward_passes() : 0;
}

void Session::answer(const Transcript& heard, Turn& turn) {
  TurnResult& result = turn.result;
  TurnMetrics& metrics = result.metrics;
  const Seconds verification_start = clock_.now();
  const int64_t passes_before = speculator_.num_forward_passes();
  const int64_t draft_model_before = num_draft_model_passes();
  History::Prompt rendered = prompt(heard.text);
  result.prompt = std::move(rendered.ids);
  if (result.dropped_rounds = rendered.dropped_rounds; result.dropped_rounds > 0) {
    note(turn, clock_.now(), TurnEvent::Kind::kRoundsDropped,
         std::to_string(result.dropped_rounds));
    turn.observer.on_rounds_dropped(result.dropped_rounds);
  }
  const bool has_begun = keeps_begun(heard, turn);
  const TokenIds& answered = has_begun ? turn.begun->prompt : result.prompt;
  result.answers_partial = answered != result.prompt;
  AnswerReader reader(tokenizer_, config_.turn.split_mode, config_.tools.names,
                      answer_start(tokenizer_, answered));
  SpokenOpening opening(config_.turn.speaks_clauses);
  const auto say = [&](const std::string& text) {
    if (!metrics.first_words) metrics.first_words = (clock_.now() - heard.time).count();
    last_answer_.reset();
    speak([&] { voice().say(text); });
  };
  const auto take = [&](const AnswerReader::Progress& progress) {
    result.thought += progress.thought;
    result.thought_tokens = reader.num_thought_tokens();
    result.text += progress.text;
    if (!progress.text.empty()) turn.observer.on_text(progress.text);
    std::ranges::copy(progress.calls, std::back_inserter(result.calls));
    if (!metrics.ttfs) {
      if (const auto clause = opening.next_clause(reader.spoken())) say(*clause);
    }
    for (const SentenceSplitter::Sentence& sentence : progress.sentences) {
      const Seconds now = clock_.now();
      const bool is_first = !metrics.ttfs;
      if (is_first) {
        metrics.ttfs = (now - heard.time).count();
        metrics.ttfs_paper = (now - verification_start).count();
        metrics.nfe_to_first_sentence = speculator_.num_forward_passes() - passes_before;
        // A draft as long as the answer may be has its first sentence, full stop or not.
        const auto ready = turn.sentence_ready ? turn.sentence_ready : drafted_at(result.events);
        metrics.ready_before_end =
            metrics.nfe_to_first_sentence == 0 && ready && *ready <= heard.time;
        metrics.draft_model_nfe_to_first_sentence = num_draft_model_passes() - draft_model_before;
        result.first_sentence = sentence.text;
        result.first_sentence_tokens = sentence.num_tokens;
      }
      note(turn, now, is_first ? TurnEvent::Kind::kFirstSentence : TurnEvent::Kind::kSentence,
           sentence.text);
      say(is_first ? opening.rest_of(sentence.text) : sentence.text);
    }
  };
  const auto& is_stuck = config_.turn.is_stuck;
  bool repeats = false;
  // False: the answer ends here, whatever else the same pass found.
  const auto follow = [&](TokenSpan tokens) {
    while (!tokens.empty()) {
      const size_t room = is_stuck ? kStuckTokens - result.answer.size() % kStuckTokens
                                   : std::numeric_limits<size_t>::max();
      const TokenSpan next = tokens.first(std::min(tokens.size(), room));
      result.answer.insert(result.answer.end(), next.begin(), next.end());
      take(reader.push(next));
      repeats = next.size() == room && is_stuck(result.answer, reader.text());
      if (repeats) return false;
      tokens = tokens.subspan(next.size());
    }
    return true;
  };
  SynthesisPause pause(voice());  // until the first pass, the verification, is done
  turn.pace.begin(verification_start, passes_before);
  const SpeculationStep step = speculator_.update(answered, heard.text, answer_config(turn),
                                                  [&](TokenSpan tokens) {
                                                    pause.end();
                                                    throw_if_stopped(turn.stop);
                                                    note_tokens(turn, tokens);
                                                    return follow(tokens);
                                                  },
                                                  {.first_sentence = turn.first_sentence});
  throw_if_stopped(turn.stop);
  take(reader.finish());
  result.stop_reason = step.generation.stop_reason;
  // The pass that found it may have found the answer's end, too, which is then not part of it.
  const TokenIds& stops = tokenizer_.stop_tokens();
  const bool is_whole = !result.answer.empty() && is_stop_token(stops, result.answer.back());
  if (repeats) result.stop_reason = is_whole ? StopReason::kStopToken : StopReason::kRepetition;
  note(turn, clock_.now(), TurnEvent::Kind::kDone, result.text);

  metrics.first_sentence_kept =
      metrics.ttfs.has_value() && result.first_sentence_tokens <= step.num_accepted;
  metrics.spec_tokens_accepted = step.num_accepted;
  metrics.spec_tokens_wasted = metrics.spec_tokens_drafted - step.num_accepted;
}

void Session::finish_speech(const Transcript& heard, Turn& turn) {
  SpeechReport speech;
  speak([&] {
    const Baton::Rest rest(config_.rests);
    speech = voice().finish_turn(turn.stop);
  });
  if (speech.error) throw TurnFailure(TurnError::Kind::kVoice, *speech.error);
  TurnMetrics& metrics = turn.result.metrics;
  if (!metrics.ttfs) return;
  if (speech.first_audio) metrics.audio_latency = (*speech.first_audio - heard.time).count();
  Seconds sound{0};
  if (speech.ready_ahead && turn.prepared) {
    sound = *speech.ready_ahead - turn.prepared->time;
  } else if (metrics.audio_latency) {
    sound = Seconds(*metrics.audio_latency - *metrics.first_words);
  }
  const Seconds lead = speech.ready_ahead ? heard.time - *speech.ready_ahead : Seconds(0);
  metrics.lead_time = std::max(lead.count(), 0.0);
  if (!turn.result.error) note_pause(heard, turn, sound);
}

void Session::note_pause(const Transcript& heard, const Turn& turn, Seconds sound) {
  const std::optional<Seconds> sentence = turn.pace.of(turn.result.first_sentence_tokens);
  if (!sentence) return;
  const bool is_told = turn.paused && bare_words(turn.paused->text) == bare_words(heard.text);
  config_.pauses.add(is_told ? heard.time - turn.paused->time : Seconds(0), *sentence + sound);
}

void Session::remember(const TurnResult& result) {
  TokenSpan ids = without_stop_token(result.answer, tokenizer_.stop_tokens());
  if (result.thought_tokens > 0) ids = {};  // the template decides what becomes of thoughts
  history_.drop(result.dropped_rounds);
  if (!History::goes_on_without(result.prompt_text)) {
    history_.add({.role = "user", .content = result.prompt_text});
  }
  history_.add({.role = "assistant",
                .content = result.text,
                .ids = TokenIds(ids.begin(), ids.end()),
                .tool_calls = result.calls,
                .thought = result.thought});
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
