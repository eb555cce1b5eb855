#include "runtime/converse/turn_drafts.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/text.h"
#include "runtime/engine/engine_lock.h"
#include "runtime/speech/speaker.h"

namespace predgen {
namespace {

constexpr Seconds kLook{0.005};  // between two looks for newer words, while a tool runs

}  // namespace

void TurnDrafts::work_on(const Transcript& heard) {
  const TurnConfig& config = session_.config.turn;
  if (config.work == InputTimeWork::kCascade || is_blank(heard.text)) return;
  const bool can_wait = config.waits_for_pauses && !turn_.observer.on_end_by_words;
  if (can_wait && !heard.is_stable && session_.pauses.can_wait()) return;
  const History::Prompt rendered = session_.prompt(heard.text);
  // The final transcript may be shorter; if not, that one is refused, in every method.
  if (std::ssize(rendered.ids) > session_.speculator.context_length()) return;
  if (config.work == InputTimeWork::kPrefill) {
    session_.speculator.prefill(rendered.ids,
                                {.priority = Priority::kSpeculative,
                                 .should_stop = [&] { return turn_.is_outdated(heard); }});
    return;
  }
  std::optional<TurnResult> drafted =
      draft(heard, 0, rendered.ids, end_reader(heard, rendered), /*is_first_said=*/true,
            /*is_told=*/true);
  if (!drafted) return;
  const bool has_sentence = !drafted->first_sentence.empty(), has_call = !drafted->calls.empty();
  const bool is_whole = has_sentence || drafted->stop_reason == StopReason::kStopToken;
  try {
    // Of a draft that newer words have ended nobody knows what it will call.
    const bool is_known = is_whole || (has_call && !turn_.is_outdated(heard));
    if (is_known) go_on(heard, rendered, *std::move(drafted));
    const bool may_branch = has_sentence && !has_call && config.turn_draft_tokens == 0;
    if (may_branch && !turn_.is_outdated(heard)) branch(heard, rendered.ids);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {  // unrequested work must not fail the turn
    turn_.note(session_.clock.now(), TurnEvent::Kind::kNotExplored, first_line(error.what()));
  }
}

GenerationConfig TurnDrafts::draft_config(const Transcript& heard, size_t round) const {
  GenerationConfig config = turn_.answer_config(round);
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

std::optional<TurnResult> TurnDrafts::draft(const Transcript& heard, size_t round,
                                            const TokenIds& prompt, const PromptReader& end,
                                            bool is_first_said, bool is_told) {
  const TurnConfig& config = session_.config.turn;
  InputTimeSpeculator& speculator = session_.speculator;
  DraftedRounds::Round& drafted = session_.drafts.enter(round, prompt);
  AnswerReader reader(session_.tokenizer, config.split_mode, session_.config.tools,
                      answer_start(session_.tokenizer, prompt));
  TurnResult result;
  std::optional<SentenceSplitter::Sentence> sentence;
  int64_t num_sentences = 0;
  SpokenOpening opening(config.speaks_clauses);
  const auto take = [&](const AnswerReader::Progress& progress) {
    std::ranges::copy(progress.calls, std::back_inserter(result.calls));
    num_sentences += std::ssize(progress.sentences);
    if (sentence) return;
    if (!progress.sentences.empty()) sentence = progress.sentences.front();
    if (is_first_said) turn_.follow_draft(reader, progress.sentences, opening, is_told);
  };
  SpeculationLimits limits{.first_sentence = drafted.first_sentence};
  const int64_t round_tokens =
      speculator.has_draft() ? config.later_round_tokens : config.first_round_tokens;
  if (round_tokens > 0) limits.max_added = round_tokens;
  int64_t& num_drafted = turn_.result.metrics.spec_tokens_drafted;
  const int64_t budget = config.turn_draft_tokens;
  if (budget > 0) {
    if (num_drafted >= budget) return std::nullopt;
    limits.max_added = std::min(limits.max_added, budget - num_drafted);
  }
  drafted.sentence_ready.reset();
  SynthesisPause pause(session_.voice);  // until the first pass, the verification, is done
  std::optional<size_t> accepted_bytes;
  bool is_verified = false;
  if (round == 0) turn_.pace.begin(session_.clock.now(), speculator.num_forward_passes());
  const SpeculationStep step = speculator.update(
      prompt, heard.text, draft_config(heard, round),
      [&](TokenSpan tokens) {
        pause.end();
        if (round == 0) turn_.note_tokens(tokens);
        take(reader.push(tokens));
        if (!is_verified) accepted_bytes = reader.text().size();
        is_verified = !speculator.is_verifying();
        if (is_told) turn_.observer.on_draft(reader.text(), *accepted_bytes);
        return num_sentences < speculator.verifier().num_sentences() && !turn_.is_outdated(heard);
      },
      limits, end);
  if (!accepted_bytes) return std::nullopt;  // stopped before the draft was verified
  // An answer without a full stop is a sentence when it ends, not when the draft is cut.
  if (step.generation.stop_reason == StopReason::kStopToken) take(reader.finish());
  drafted.first_sentence = sentence ? sentence->num_tokens : std::numeric_limits<int64_t>::max();
  // A call is for a program: it must not be only approximately right.
  if (const auto begin = reader.call_begin()) {
    drafted.first_sentence = std::min(drafted.first_sentence, *begin);
  }
  const TokenSpan answer = speculator.answer();
  num_drafted += std::ssize(answer) - step.num_accepted;
  if (round == 0) turn_.note(session_.clock.now(), TurnEvent::Kind::kDraft, reader.text());
  result.answer.assign(answer.begin(), answer.end());
  result.text = reader.text();
  result.thought = reader.thought();
  result.thought_tokens = reader.num_thought_tokens();
  result.stop_reason = step.generation.stop_reason;
  if (sentence) result.first_sentence = sentence->text;
  return result;
}

void TurnDrafts::go_on(const Transcript& heard, const History::Prompt& rendered,
                       TurnResult drafted) {
  std::optional<History> before;
  int64_t num_dropped = rendered.dropped_rounds;
  size_t num_calls = 0;
  bool is_first_said = true;
  for (size_t round = 0;; ++round) {
    note_calls(heard, round, drafted.calls);
    const bool is_whole = drafted.stop_reason == StopReason::kStopToken && !drafted.calls.empty();
    if (!session_.early || !is_whole || !await(heard, drafted.calls)) return;
    const std::optional<EarlyCalls::Results> results =
        session_.early->results(round, num_calls, drafted.calls);
    if (!results) return;
    // Another verifier might keep what only follows from a wrong guess.
    if (results->are_guesses && !session_.speculator.verifier().is_exact()) return;
    if (!before) before.emplace(session_.history);
    before->drop(num_dropped);
    if (round == 0) before->add({.role = "user", .content = heard.text});
    before->add(answer_message(drafted, session_.tokenizer.stop_tokens()));
    for (const Message& result : results->messages) before->add(result);
    const History::Prompt next = session_.prompt(*before, "");
    if (std::ssize(next.ids) > session_.speculator.context_length()) return;
    num_dropped = next.dropped_rounds;
    num_calls += drafted.calls.size();
    is_first_said = is_first_said && drafted.first_sentence.empty();
    std::optional<TurnResult> more =
        draft(heard, round + 1, next.ids, {}, is_first_said, !results->are_guesses);
    // Nothing is read behind an effect that is not there yet.
    if (!more || results->are_guesses) return;
    drafted = *std::move(more);
  }
}

void TurnDrafts::note_calls(const Transcript& heard, size_t round,
                            const std::vector<ToolCall>& calls) {
  if (round >= calls_.size()) calls_.resize(round + 1);
  std::vector<DraftedCall>& known = calls_[round];
  if (calls.empty() && known.empty()) return;
  std::vector<DraftedCall> kept;
  for (const ToolCall& call : calls) {
    const std::string key = canonical_call(call);
    const auto before = std::ranges::find(known, key, &DraftedCall::key);
    // Words behind which the user pauses have come twice.
    const int64_t first = heard.is_stable ? 1 : 0;
    kept.push_back({call, key, before == known.end() ? first : before->num_kept + 1});
  }
  known = std::move(kept);
  if (round == 0 && !known.empty()) turn_.observer.on_calls(known);
  if (session_.early) session_.early->note(round, known);
}

bool TurnDrafts::await(const Transcript& heard, const std::vector<ToolCall>& calls) {
  while (session_.early->is_coming(calls)) {
    if (turn_.is_outdated(heard)) return false;
    const EngineLock::Release rest(session_.config.rests);
    session_.early->wait(kLook);
  }
  return !turn_.is_outdated(heard);
}

void TurnDrafts::branch(const Transcript& heard, const TokenIds& prompt) {
  // Another answer is complete once its first sentence is.
  const auto follow = [&]() -> IsWhole {
    AnswerReader fresh(session_.tokenizer, session_.config.turn.split_mode, {},
                       answer_start(session_.tokenizer, prompt));
    return [other = std::move(fresh)](TokenSpan tokens) mutable {
      return !other.push(tokens).sentences.empty();
    };
  };
  turn_.result.metrics.spec_tokens_drafted +=
      session_.speculator.branch(draft_config(heard, 0), follow);
}

}  // namespace predgen
