#include "runtime/converse/preemptive_answer.h"

#include <utility>

#include "core/stop.h"
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

}  // namespace predgen
