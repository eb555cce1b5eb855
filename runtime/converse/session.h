#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "runtime/converse/drafted_rounds.h"
#include "runtime/converse/early_calls.h"
#include "runtime/converse/history.h"
#include "runtime/converse/session_config.h"
#include "runtime/converse/words_end.h"
#include "runtime/engine/engine.h"
#include "runtime/speech/speaker.h"

namespace predgen {

struct CurrentTurn;
struct SessionParts;

/// A conversation: the one place where model, verifier, generator, speculator, voice and history
/// meet. Turns come one after the other; nothing is spoken, stored or shown before the final
/// transcript has confirmed it. Used by one thread, the engine's. Borrows engine, tokenizer and
/// clock, which outlive it.
///
/// When the context has no room left for history, prompt and answer, the oldest rounds are dropped,
/// the system prompt is kept; the result and the observer say so. The number dropped depends on
/// history and transcript alone, so it is the same in every method.
class Session {
 public:
  /// UserError for a verifier, generator or limit that does not exist.
  Session(const SessionConfig& config, Engine& engine, const Tokenizer& tokenizer,
          std::unique_ptr<Speaker> speaker, Clock& clock);
  ~Session();

  /// Replaces the history (alternating user and assistant messages) and prefills its cache, a draft
  /// model's too, together with the system prompt; the time and passes of this prefill are not part
  /// of a turn. Without this call the first turn's first pass runs the system prompt. After a stop
  /// the next turn prefills the rest.
  void set_history(const std::vector<Message>& history, const std::stop_token& stop = {});
  /// Likewise, without a prefill: for a turn that follows at once.
  void replace_history(const std::vector<Message>& history) {
    history_.replace(history);
    last_answer_.reset();
  }
  /// The rounds so far, without the system prompt.
  std::vector<Message> history() const { return history_.rounds(); }
  /// As History::opening().
  TokenIds opening() const;
  /// The tokens of the last prompt and its answer, and what is cached of them.
  const Sequence& sequence() const { return speculator_.sequence(); }
  /// Between turns: the next prompt finds cached what this sequence has of it, instead.
  void go_on_from(Sequence sequence) { speculator_.go_on_from(std::move(sequence)); }

  const SessionConfig& config() const { return config_; }
  const Speaker& speaker() const { return *(is_silent_ ? &silence_ : speaker_.get()); }
  /// Pauses in the last turns.
  const PauseHistory& pauses() const { return config_.pauses; }
  void set_pauses(const PauseHistory& pauses) { config_.pauses = pauses; }
  /// Takes effect with the next turn. UserError as the constructor; then nothing has changed.
  void set_verifier(const VerifierConfig& verifier);
  /// Likewise, with the same errors; a draft model runs the history again.
  void set_generator(const GeneratorConfig& generator);
  void set_work(InputTimeWork work) { config_.turn.work = work; }
  /// At least 1.
  void set_max_new_tokens(int64_t count);
  /// Takes effect with the next turn; nullopt: greedy. UserError unless the verifier is greedy, or
  /// for a value out of range.
  void set_sampling(const std::optional<SamplingConfig>& sampling);
  /// Its text; empty: none. The next prompt drops the old one from the cache.
  void set_system_prompt(const std::string& text);

  /// Says something between turns, of which the history does not know. Interrupted if stopped;
  /// another error if the voice is lost.
  void say_aside(const std::string& text, const std::stop_token& stop = {});
  /// Likewise, as the assistant's next message, which interrupt() cuts.
  void say_answer(const std::string& text, const std::stop_token& stop = {});

  /// From the next turn on. The last answer's words all count as heard from here on.
  void set_speaker(std::unique_ptr<Speaker> speaker);
  /// Whether the speaker says nothing, from the next turn on.
  void set_silent(bool is_silent) { is_silent_ = is_silent; }

  /// What every answer may be, and what it may be behind functions' results, from the next turn on;
  /// null: anything, and the same there, whatever the user says.
  void set_constraint(std::shared_ptr<const TokenConstraint> constraint,
                      std::shared_ptr<const TokenConstraint> behind_results = nullptr,
                      ConstraintFor constraint_for = nullptr) {
    config_.constraint = std::move(constraint);
    config_.behind_results = std::move(behind_results);
    config_.constraint_for = std::move(constraint_for);
  }
  /// From the next prompt on. UserError if the model's template has no tools.
  void set_tools(const ToolSet& tools);

  /// Runs calls of drafts while the user speaks, and is asked what they gave; the drafts go on
  /// behind their results. A turn whose answer is only calls leaves what the speaker has prepared
  /// to the next one, which must follow. Borrowed; null: nothing is called.
  void set_early_calls(EarlyCalls* early) { early_ = early; }

  /// Runs one turn until the answer is complete and spoken; nullopt if the source ends before a
  /// final transcript. Times in the result are the clock's. A turn that fails (the prompt does
  /// not fit even without history, the voice is lost) consumes its input up to the final
  /// transcript and says so in the result; the history stays as it was, and playback ends.
  /// Interrupted if stopped, even while speaking; playback then ends too, and the history keeps
  /// what was said by then: the sound that was played or, without sound, the text that the
  /// observer got. Function calls of the answer are in the result and in the history; no part of
  /// a call is spoken, shown or handed out before the final transcript has confirmed it. If the
  /// history ends with a function's result, the final transcript may be blank: the answer
  /// continues. A blank one otherwise lets the assistant speak by itself, first or once more.
  /// `round`: how many rounds of calls and their results the answer goes on behind, by turns with
  /// blank transcripts; the drafts of the first one may have gone as far.
  std::optional<TurnResult> run_turn(TranscriptSource& source, const TurnObserver& observer = {},
                                     const std::stop_token& stop = {}, size_t round = 0);

  /// Barge-in: ends playback of the last answer; the history keeps its words that were heard, or
  /// forgets the round if none were. `heard`: how much of the answer's sound was played, if the
  /// player knows better than the speaker's sink. Returns what the history keeps: all of it without
  /// sound, nothing if its turn failed. Call it after a turn, even an Interrupted one, or in the
  /// next turn's TurnObserver::on_transcript() before the answer begins.
  std::string interrupt(std::optional<Seconds> heard = {});

 private:
  std::optional<TurnResult> run(CurrentTurn& turn);
  SessionParts parts();
  TokenIds history_tokens();
  std::string last_words() const;  // of the user
  /// UserError if the verifier does not support such sampling.
  static void check_verifier(const VerifierConfig& verifier,
                             const std::optional<SamplingConfig>& sampling);
  Speaker& voice() { return *(is_silent_ ? &silence_ : speaker_.get()); }
  void remember(const TurnResult& result);
  /// What interrupt() does to the history.
  std::string keep_heard(std::optional<Seconds> heard);

  SessionConfig config_;
  Engine& engine_;
  const Tokenizer& tokenizer_;
  std::unique_ptr<Speaker> speaker_;
  SilentSpeaker silence_;
  bool is_silent_ = false;
  Clock& clock_;
  History history_;
  uint64_t next_turn_;
  /// The history's last answer, until another one is spoken.
  struct LastAnswer {
    std::string text;
    bool has_sound = false;
    bool is_said = false;            // at least partly, to the speaker
    std::optional<Seconds> heard{};  // of its sound, as interrupt() was told; nullopt: not told
  };
  std::optional<LastAnswer> last_answer_;
  std::unique_ptr<Verifier> verifier_;
  std::unique_ptr<Generator> generator_;
  InputTimeSpeculator speculator_;
  DraftedRounds drafts_{speculator_};
  EarlyCalls* early_ = nullptr;
  std::optional<EndByWords> end_by_words_;  // made when first asked for
};

}  // namespace predgen
