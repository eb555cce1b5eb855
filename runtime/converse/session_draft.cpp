#include <algorithm>
#include <limits>

#include "core/text.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/session_turn.h"
#include "runtime/converse/words_end.h"
#include "runtime/speech/synthesis_pause.h"

// What a session does with a turn while the user speaks.
namespace predgen {

void Session::note_tokens(Turn& turn, TokenSpan tokens) const {
  turn.pace.on_tokens(clock_.now(), speculator_.num_forward_passes(), std::ssize(tokens));
}

void Session::work_ahead(const Transcript& heard, Turn& turn) {
  if (config_.turn.work == InputTimeWork::kPreempt) return preempt(heard, turn);
  if (config_.turn.work == InputTimeWork::kCascade || is_blank(heard.text)) return;
  const bool can_wait = config_.turn.waits_for_pauses && !turn.observer.on_end_by_words;
  if (can_wait && !heard.is_stable && pauses().can_wait()) return;
  const History::Prompt rendered = prompt(heard.text);
  // The final transcript may be shorter; if not, that one is refused, in every method.
  if (std::ssize(rendered.ids) > speculator_.context_length()) return;
  if (config_.turn.work == InputTimeWork::kPrefill) {
    speculator_.prefill(rendered.ids, {.priority = Priority::kSpeculative,
                                       .should_stop = [&] { return is_outdated(heard, turn); }});
  } else {
    draft_answer(heard, rendered, turn);
  }
}

GenerationConfig Session::draft_config(const Transcript& heard, const Turn& turn) const {
  GenerationConfig config = answer_config(turn);
  config.max_new_tokens = std::min(config_.turn.max_draft_tokens, config.max_new_tokens);
  config.priority = Priority::kSpeculative;
  config.should_stop = [&] { return is_outdated(heard, turn); };
  return config;
}

PromptReader Session::end_reader(const Transcript& heard, const History::Prompt& rendered,
                                 const Turn& turn) {
  const auto& tell = turn.observer.on_end_by_words;
  const std::string words = EndByWords::without_marks(heard.text);
  if (!tell || words.empty()) return {};
  const std::optional<int64_t> end =
      words_end(rendered, words, [this](const std::string& text) { return prompt(text); });
  if (!end) return {};
  if (!end_by_words_) end_by_words_.emplace(tokenizer_, config_.end_readout);
  return {.num_tokens = *end, .read = [this, &heard, &tell](const at::Tensor& logits_V) {
            tell(heard.text, end_by_words_->probability(logits_V));
          }};
}

void Session::draft_answer(const Transcript& heard, const History::Prompt& rendered, Turn& turn) {
  const AnswerStart start = answer_start(tokenizer_, rendered.ids);
  AnswerReader reader(tokenizer_, config_.turn.split_mode, config_.tools.names, start);
  std::optional<SentenceSplitter::Sentence> sentence;
  int64_t num_sentences = 0;
  SpokenOpening opening(config_.turn.speaks_clauses);
  const auto take = [&](const AnswerReader::Progress& progress) {
    num_sentences += std::ssize(progress.sentences);
    if (sentence) return;
    if (!progress.sentences.empty()) sentence = progress.sentences.front();
    turn.follow_draft(reader, progress.sentences, opening, clock_.now(), ahead());
  };
  const GenerationConfig generation = draft_config(heard, turn);
  SpeculationLimits limits{.first_sentence = turn.first_sentence};
  const int64_t round_tokens = speculator_.answer().empty() ? config_.turn.first_round_tokens
                                                            : config_.turn.later_round_tokens;
  if (round_tokens > 0) limits.max_added = round_tokens;
  int64_t& num_drafted = turn.result.metrics.spec_tokens_drafted;
  const int64_t budget = config_.turn.turn_draft_tokens;
  if (budget > 0) {
    if (num_drafted >= budget) return;
    limits.max_added = std::min(limits.max_added, budget - num_drafted);
  }
  turn.sentence_ready.reset();
  SynthesisPause pause(voice());  // until the first pass, the verification, is done
  std::optional<size_t> accepted_bytes;
  bool is_verified = false;
  turn.pace.begin(clock_.now(), speculator_.num_forward_passes());
  const SpeculationStep step = speculator_.update(
      rendered.ids, heard.text, generation,
      [&](TokenSpan tokens) {
        pause.end();
        note_tokens(turn, tokens);
        take(reader.push(tokens));
        if (!is_verified) accepted_bytes = reader.text().size();
        is_verified = !speculator_.is_verifying();
        turn.observer.on_draft(reader.text(), *accepted_bytes);
        return num_sentences < verifier_->num_sentences() && !is_outdated(heard, turn);
      },
      limits, end_reader(heard, rendered, turn));
  if (!accepted_bytes) return;  // stopped before the draft was verified
  // An answer without a full stop is a sentence when it ends, not when the draft is cut.
  if (step.generation.stop_reason == StopReason::kStopToken) take(reader.finish());
  turn.first_sentence = sentence ? sentence->num_tokens : std::numeric_limits<int64_t>::max();
  // A call is for a program: it must not be only approximately right.
  if (const auto begin = reader.call_begin()) {
    turn.first_sentence = std::min(turn.first_sentence, *begin);
  }
  num_drafted += std::ssize(speculator_.answer()) - step.num_accepted;
  note(turn, clock_.now(), TurnEvent::Kind::kDraft, reader.text());
  if (!sentence || budget > 0 || is_outdated(heard, turn)) return;
  // Another answer is complete once its first sentence is.
  const auto follow = [&]() -> IsWhole {
    AnswerReader fresh(tokenizer_, config_.turn.split_mode, {}, start);
    return [other = std::move(fresh)](TokenSpan tokens) mutable {
      return !other.push(tokens).sentences.empty();
    };
  };
  try {
    num_drafted += speculator_.branch(generation, follow);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {  // unrequested work must not fail the turn
    note(turn, clock_.now(), TurnEvent::Kind::kNotExplored, first_line(error.what()));
  }
}

}  // namespace predgen
