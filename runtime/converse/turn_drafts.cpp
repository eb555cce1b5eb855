#include "runtime/converse/turn_drafts.h"

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "runtime/speech/synthesis_pause.h"

namespace predgen {

void TurnDrafts::work_on(const Transcript& heard) {
  const TurnConfig& config = session_.config.turn;
  if (config.work == InputTimeWork::kCascade || is_blank(heard.text)) return;
  const bool can_wait = config.waits_for_pauses && !turn_.observer.on_end_by_words;
  if (can_wait && !heard.is_stable && session_.pauses.can_wait()) return;
  const History::Prompt rendered = session_.prompt(heard.text);
  // The final transcript may be shorter; if not, that one is refused, in every method.
  if (std::ssize(rendered.ids) > session_.speculator.context_length()) return;
  if (config.work != InputTimeWork::kPrefill) return draft(heard, rendered);
  session_.speculator.prefill(rendered.ids,
                              {.priority = Priority::kSpeculative,
                               .should_stop = [&] { return turn_.is_outdated(heard); }});
}

GenerationConfig TurnDrafts::draft_config(const Transcript& heard) const {
  GenerationConfig config = turn_.answer_config();
  config.max_new_tokens = std::min(session_.config.turn.max_draft_tokens, config.max_new_tokens);
  config.priority = Priority::kSpeculative;
  config.should_stop = [this, &heard] { return turn_.is_outdated(heard); };
  return config;
}

PromptReader TurnDrafts::end_reader(const Transcript& heard,
                                    const History::Prompt& rendered) const {
  const auto& tell = turn_.observer.on_end_by_words;
  const std::string words = EndByWords::without_marks(heard.text);
  if (!tell || words.empty()) return {};
  const std::optional<int64_t> end =
      words_end(rendered, words, [this](const std::string& text) { return session_.prompt(text); });
  if (!end) return {};
  std::optional<EndByWords>& by_words = session_.end_by_words;
  if (!by_words) by_words.emplace(session_.tokenizer, session_.config.end_readout);
  return {.num_tokens = *end, .read = [&by_words, &heard, &tell](const at::Tensor& logits_V) {
            tell(heard.text, by_words->probability(logits_V));
          }};
}

void TurnDrafts::draft(const Transcript& heard, const History::Prompt& rendered) {
  const TurnConfig& config = session_.config.turn;
  const std::vector<std::string>& tools = session_.config.tools.names;
  InputTimeSpeculator& speculator = session_.speculator;
  const AnswerStart start = answer_start(session_.tokenizer, rendered.ids);
  AnswerReader reader(session_.tokenizer, config.split_mode, tools, start);
  std::optional<SentenceSplitter::Sentence> sentence;
  int64_t num_sentences = 0;
  SpokenOpening opening(config.speaks_clauses);
  const auto take = [&](const AnswerReader::Progress& progress) {
    num_sentences += std::ssize(progress.sentences);
    if (sentence) return;
    if (!progress.sentences.empty()) sentence = progress.sentences.front();
    turn_.follow_draft(reader, progress.sentences, opening);
  };
  const GenerationConfig generation = draft_config(heard);
  SpeculationLimits limits{.first_sentence = turn_.first_sentence};
  const int64_t round_tokens =
      speculator.answer().empty() ? config.first_round_tokens : config.later_round_tokens;
  if (round_tokens > 0) limits.max_added = round_tokens;
  int64_t& num_drafted = turn_.result.metrics.spec_tokens_drafted;
  const int64_t budget = config.turn_draft_tokens;
  if (budget > 0) {
    if (num_drafted >= budget) return;
    limits.max_added = std::min(limits.max_added, budget - num_drafted);
  }
  turn_.sentence_ready.reset();
  SynthesisPause pause(session_.voice);  // until the first pass, the verification, is done
  std::optional<size_t> accepted_bytes;
  bool is_verified = false;
  turn_.pace.begin(session_.clock.now(), speculator.num_forward_passes());
  const SpeculationStep step = speculator.update(
      rendered.ids, heard.text, generation,
      [&](TokenSpan tokens) {
        pause.end();
        turn_.note_tokens(tokens);
        take(reader.push(tokens));
        if (!is_verified) accepted_bytes = reader.text().size();
        is_verified = !speculator.is_verifying();
        turn_.observer.on_draft(reader.text(), *accepted_bytes);
        return num_sentences < speculator.verifier().num_sentences() && !turn_.is_outdated(heard);
      },
      limits, end_reader(heard, rendered));
  if (!accepted_bytes) return;  // stopped before the draft was verified
  // An answer without a full stop is a sentence when it ends, not when the draft is cut.
  if (step.generation.stop_reason == StopReason::kStopToken) take(reader.finish());
  turn_.first_sentence = sentence ? sentence->num_tokens : std::numeric_limits<int64_t>::max();
  // A call is for a program: it must not be only approximately right.
  if (const auto begin = reader.call_begin()) {
    turn_.first_sentence = std::min(turn_.first_sentence, *begin);
  }
  num_drafted += std::ssize(speculator.answer()) - step.num_accepted;
  turn_.note(session_.clock.now(), TurnEvent::Kind::kDraft, reader.text());
  if (!sentence || budget > 0 || turn_.is_outdated(heard)) return;
  // Another answer is complete once its first sentence is.
  const auto follow = [&]() -> IsWhole {
    AnswerReader fresh(session_.tokenizer, config.split_mode, {}, start);
    return [other = std::move(fresh)](TokenSpan tokens) mutable {
      return !other.push(tokens).sentences.empty();
    };
  };
  try {
    num_drafted += speculator.branch(generation, follow);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {  // unrequested work must not fail the turn
    turn_.note(session_.clock.now(), TurnEvent::Kind::kNotExplored, first_line(error.what()));
  }
}

}  // namespace predgen
