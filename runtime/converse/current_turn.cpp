#include "runtime/converse/current_turn.h"

#include <algorithm>

#include "core/stop.h"
#include "core/text.h"
#include "text/token_ids.h"

namespace predgen {
namespace {

constexpr size_t kMaxEvents = 4096;  // before the final transcript

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

History::Room SessionParts::room() const {
  const int64_t context_length = speculator.context_length();
  // A small context is not reserved for answers that are seldom that long.
  return {context_length, std::min(config.turn.max_new_tokens, context_length / 8)};
}

Message answer_message(const TurnResult& result, const TokenIds& stop_tokens) {
  TokenSpan ids = without_stop_token(result.answer, stop_tokens);
  if (result.thought_tokens > 0) ids = {};  // the template decides what becomes of thoughts
  return {.role = "assistant",
          .content = result.text,
          .ids = TokenIds(ids.begin(), ids.end()),
          .tool_calls = result.calls,
          .thought = result.thought};
}

History::Prompt SessionParts::prompt(const History& before, const std::string& user_text) const {
  const EngineLock::Release rest(config.rests);
  try {
    return before.prompt(user_text, room());
  } catch (const UserError& error) {
    throw TurnFailure(TurnError::Kind::kConversation, error.what());
  }
}

bool CurrentTurn::is_outdated(const Transcript& heard) const {
  throw_if_stopped(stop);
  const Seconds now = session.clock.now();
  if (session.config.turn.yields_to_words && source.expects_words(now)) return true;
  const std::optional<Transcript> newest = source.latest(now);
  return newest && newest->revision > heard.revision;
}

int64_t CurrentTurn::num_draft_model_passes() const {
  const Engine* draft_model = session.config.generator.draft_model;
  return draft_model ? draft_model->num_forward_passes() : 0;
}

GenerationConfig CurrentTurn::answer_config(size_t more_rounds) {
  const SessionConfig& config = session.config;
  GenerationConfig answer{.max_new_tokens = config.turn.max_new_tokens,
                          .stop_tokens = session.tokenizer.stop_tokens(),
                          .should_stop = [this] { return stop.stop_requested(); }};
  // Each round is a turn of the session, with draws of its own.
  if (config.sampling) {
    answer.sampler = std::make_shared<Sampler>(*config.sampling, result.number + more_rounds);
  }
  if (more_rounds == 0 && !constraint) constraint = new_constraint(round);
  answer.constraint = more_rounds > 0 ? new_constraint(round + more_rounds) : *constraint;
  return answer;
}

std::shared_ptr<AnswerConstraint> CurrentTurn::new_constraint(size_t of_round) const {
  const SessionConfig& config = session.config;
  auto held = of_round > 0 && config.behind_results ? config.behind_results : config.constraint;
  if (config.constraint_for && !words.empty()) {
    const EngineLock::Release rest(config.rests);
    if (auto narrowed = config.constraint_for(words, of_round > 0)) held = std::move(narrowed);
  }
  if (!held) return nullptr;
  return std::make_shared<AnswerConstraint>(held, session.tokenizer.stop_tokens(),
                                            session.tokenizer.vocab_size());
}

void CurrentTurn::hear(const std::string& text) {
  if (is_blank(text) || text == words) return;
  words = text;
  if (session.config.constraint_for) constraint.reset();
}

void CurrentTurn::note(Seconds time, TurnEvent::Kind kind, const std::string& text) {
  if (!is_over && result.events.size() >= kMaxEvents) return;
  const bool is_kept = trace_bytes + text.size() <= session.config.turn.trace_bytes;
  if (is_kept) trace_bytes += text.size();
  result.events.push_back({time, kind, is_kept ? text : ""});
}

void CurrentTurn::note_tokens(TokenSpan tokens) {
  pace.on_tokens(session.clock.now(), session.speculator.num_forward_passes(), std::ssize(tokens));
}

void CurrentTurn::prepare(const std::string& text) {
  Speaker* const speaker = session.ahead();
  if (speaker == nullptr) return;
  if (!prepared || prepared->text != text) prepared = {text, session.clock.now()};
  speak([&] { speaker->prepare(text); });
}

void CurrentTurn::follow_draft(const AnswerReader& reader,
                               const std::vector<SentenceSplitter::Sentence>& sentences,
                               SpokenOpening& opening, bool is_told) {
  if (const auto clause = opening.next_clause(reader.spoken())) prepare(*clause);
  if (sentences.empty()) return;
  const std::string& sentence = sentences.front().text;
  session.drafts.now().sentence_ready = session.clock.now();
  prepare(opening.of(sentence));
  if (is_told && session.ahead() != nullptr) observer.on_first_sentence(sentence);
}

}  // namespace predgen
