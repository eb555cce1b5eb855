#include <optional>
#include <utility>

#include "core/stop.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/session_turn.h"
#include "text/bare_words.h"

// Preemptive generation, as in LiveKit's agents: an answer is begun at a pause, from scratch, and
// is useful only if the user says no other words.
namespace predgen {
namespace {

constexpr int64_t kMostBegun = 3;  // in a turn: LiveKit's max_retries

}  // namespace

bool Session::is_overtaken(const Transcript& heard, const Turn& turn) const {
  throw_if_stopped(turn.stop);
  const std::optional<Transcript> newest = turn.source.latest(clock_.now());
  if (!newest || newest->revision <= heard.revision) return false;
  return newest->is_final || bare_words(newest->text) != turn.begun->words;
}

void Session::preempt(const Transcript& heard, Turn& turn) {
  std::string words = bare_words(heard.text);
  if (turn.begun && turn.begun->words != words) drop_begun(turn);
  if (!turn.begun) {
    if (!heard.is_stable || words.empty() || turn.num_begun == kMostBegun) return;
    History::Prompt rendered = prompt(heard.text);
    // As for a draft: if the final transcript is too long as well, that one is refused.
    if (std::ssize(rendered.ids) > speculator_.context_length()) return;
    turn.begun = {.words = std::move(words), .prompt = std::move(rendered.ids)};
    ++turn.num_begun;
  }
  if (!turn.begun->is_whole) continue_begun(heard, turn);
}

void Session::continue_begun(const Transcript& heard, Turn& turn) {
  AnswerReader reader(tokenizer_, config_.turn.split_mode, config_.tools.names,
                      answer_start(tokenizer_, turn.begun->prompt));
  SpokenOpening opening(config_.turn.speaks_clauses);
  const auto take = [&](const AnswerReader::Progress& progress) {
    if (turn.sentence_ready) return;
    turn.follow_draft(reader, progress.sentences, opening, clock_.now(), ahead());
  };
  GenerationConfig generation = answer_config(turn);
  generation.priority = Priority::kSpeculative;
  generation.should_stop = [&] { return is_overtaken(heard, turn); };
  std::optional<size_t> accepted_bytes;
  const SpeculationStep step =
      speculator_.update(turn.begun->prompt, heard.text, generation, [&](TokenSpan tokens) {
        take(reader.push(tokens));
        if (!accepted_bytes) accepted_bytes = reader.text().size();
        turn.observer.on_draft(reader.text(), *accepted_bytes);
        return !is_overtaken(heard, turn);
      });
  if (!accepted_bytes) return;  // stopped within a long prompt
  turn.begun->is_whole = step.generation.stop_reason != StopReason::kCancelled;
  if (turn.begun->is_whole) take(reader.finish());
  turn.result.metrics.spec_tokens_drafted += std::ssize(speculator_.answer()) - step.num_accepted;
  note(turn, clock_.now(), TurnEvent::Kind::kDraft, reader.text());
}

void Session::drop_begun(Turn& turn) {
  turn.begun.reset();
  turn.sentence_ready.reset();
  speculator_.reset_answer();
  if (ahead()) speak([&] { voice().prepare(""); });  // cancels the other
}

bool Session::keeps_begun(const Transcript& heard, Turn& turn) {
  if (turn.begun && turn.begun->words != bare_words(heard.text)) drop_begun(turn);
  return turn.begun.has_value();
}

}  // namespace predgen
