#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "runtime/converse/history.h"
#include "runtime/converse/turn.h"
#include "runtime/converse/turn_pace.h"
#include "runtime/converse/words_end.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/make_generator.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/make_verifier.h"
#include "runtime/speech/speaker.h"

namespace predgen {

struct SessionConfig {
  TurnConfig turn{};
  VerifierConfig verifier{};
  GeneratorConfig generator{};
  SpeculationConfig speculation{};
  std::optional<SamplingConfig> sampling{};  // with the verifier greedy only; nothing: greedy
  uint64_t first_turn = 0;                   // its number: each turn draws in its own way
  std::string system_prompt{};               // its text; empty: none
  ToolSet tools{};                           // that the model may call
  std::shared_ptr<const EndReadout> end_readout{};  // for TurnObserver::on_end_by_words; null: none
  PauseHistory pauses{};       // of the turns before the first, for TurnConfig::waits_for_pauses
  int64_t max_context = 8192;  // tokens of prompt and answer; the model may have fewer positions

  /// Whether what passes of the model cost (measure_prices()) changes anything.
  bool wants_prices(const LanguageModel& model) const {
    return generator.name == "jacobi" || !generator.sources.empty() ||
           !model.mask_tokens().empty() || speculation.num_candidates > 1;
  }
};

/// A conversation: the one place where model, verifier, generator, speculator, voice and history
/// meet. Turns come one after the other; nothing is spoken, stored or shown before the final
/// transcript has confirmed it. Used by one thread, the engine's. Borrows engine, tokenizer and
/// clock, which outlive it.
///
/// When the context has no room left for history, prompt and answer, the oldest rounds are dropped,
/// the system prompt is kept; the result and the observer say so. How many depends on the history
/// and the transcript alone, so it is the same in every method.
class Session {
 public:
  /// UserError for a verifier, generator or limit that does not exist.
  Session(const SessionConfig& config, Engine& engine, const Tokenizer& tokenizer,
          std::unique_ptr<Speaker> speaker, Clock& clock);

  /// Replaces the history (user and assistant messages in turn) and prefills its cache, a draft
  /// model's too, together with the system prompt; the time and the passes of that are not part of
  /// a turn. Without this call the first turn's first pass runs the system prompt. After a stop the
  /// rest of the cache is left to the next turn.
  void set_history(const std::vector<Message>& history, const std::stop_token& stop = {});
  /// The rounds so far, without the system prompt.
  std::vector<Message> history() const { return history_.rounds(); }

  const SessionConfig& config() const { return config_; }
  /// Of the last turns.
  const PauseHistory& pauses() const { return config_.pauses; }
  /// From the next turn on. UserError as the constructor; then nothing has changed.
  void set_verifier(const VerifierConfig& verifier);
  /// From the next turn on, with the same errors; a draft model runs the history once more.
  void set_generator(const GeneratorConfig& generator);
  void set_work(InputTimeWork work) { config_.turn.work = work; }
  /// At least 1.
  void set_max_new_tokens(int64_t count);
  /// Its text; empty: none. What the cache has of the old one goes with the next prompt.
  void set_system_prompt(const std::string& text);

  /// From the next prompt on. UserError if the model's template has no tools.
  void set_tools(const ToolSet& tools);

  /// Runs one turn until the answer is complete and spoken; nothing if the source has ended before
  /// a final transcript. Times in the result are the clock's. A turn that fails (a prompt that does
  /// not fit even without history, a voice that is lost) takes its input up to the final transcript
  /// and says so in the result; the history is as before it, and nothing more of it is heard.
  /// Interrupted if stopped, also while it speaks; then nothing more of the turn is heard, and the
  /// history has what was said by then. "Said" is what was played of a speaker's sound, and without
  /// sound what the observer got. Functions that the answer calls are in the result, and in the
  /// history; nothing of a call is spoken, shown or handed out before the final transcript has
  /// confirmed it. Where the history ends with what a function said, the final transcript may be
  /// blank: the answer goes on.
  std::optional<TurnResult> run_turn(TranscriptSource& source, const TurnObserver& observer = {},
                                     const std::stop_token& stop = {});

  /// The user breaks in: nothing more of the last answer is heard, and the history keeps the words
  /// of it that were, or forgets the round if there was none. `heard`: of the answer's sound, where
  /// who plays it knows better than the speaker's sink. Returns what the history keeps: all of it
  /// without sound, nothing if its turn failed. After a turn, also one that was Interrupted, or in
  /// the next one's TurnObserver::on_transcript() before its answer begins.
  std::string interrupt(std::optional<Seconds> heard = {});

 private:
  struct Turn;
  std::optional<TurnResult> run(Turn& turn);
  History::Room room() const;
  History::Prompt prompt(const std::string& user_text) const;
  int64_t num_draft_model_passes() const;
  /// UserError if it does not go with sampling.
  void check_verifier(const VerifierConfig& verifier) const;
  /// Work on a transcript that is not final; returns as soon as a newer one is there.
  void work_ahead(const Transcript& heard, Turn& turn);
  /// `rendered`: what is heard, as a prompt.
  void draft_answer(const Transcript& heard, const History::Prompt& rendered, Turn& turn);
  /// Tells the observer how likely the turn is over by the words, where it asks.
  PromptReader end_reader(const Transcript& heard, const History::Prompt& rendered,
                          const Turn& turn);
  /// Work ahead by kPreempt: throws away an answer to other words, begins one at a pause.
  void preempt(const Transcript& heard, Turn& turn);
  /// Until the answer that was begun is whole or overtaken.
  void continue_begun(const Transcript& heard, Turn& turn);
  void drop_begun(Turn& turn);
  /// Whether there are other words than those of the answer that was begun, or the final ones.
  bool is_overtaken(const Transcript& heard, const Turn& turn) const;
  /// Whether an answer was begun to the final words; one to other words is thrown away.
  bool keeps_begun(const Transcript& heard, Turn& turn);
  /// What a turn's answer may be.
  GenerationConfig answer_config(const Turn& turn) const;
  /// What a draft may be. Nobody works on it any more when there is newer than `heard`.
  GenerationConfig draft_config(const Transcript& heard, const Turn& turn) const;
  /// Whether the source has a newer transcript. Interrupted if the turn was stopped.
  bool is_outdated(const Transcript& heard, const Turn& turn) const;
  /// Verifies the draft against the final transcript, says and shows the whole answer.
  void answer(const Transcript& heard, Turn& turn);
  void finish_speech(const Transcript& heard, Turn& turn);
  /// `tokens` of an answer that Turn::pace follows.
  void note_tokens(Turn& turn, TokenSpan tokens) const;
  /// Adds to the pauses what this turn took, the first sentence's sound by itself.
  void note_pause(const Transcript& heard, const Turn& turn, Seconds sound);
  /// Adds to the turn's events.
  void note(Turn& turn, Seconds time, TurnEvent::Kind kind, const std::string& text) const;
  void remember(const TurnResult& result);
  /// What interrupt() does to the history.
  std::string keep_heard(std::optional<Seconds> heard);

  SessionConfig config_;
  Engine& engine_;
  const Tokenizer& tokenizer_;
  std::unique_ptr<Speaker> speaker_;
  Clock& clock_;
  History history_;
  uint64_t next_turn_;
  /// The history's last answer, until another one is spoken.
  struct LastAnswer {
    std::string text;
    bool has_sound = false;
    bool is_said = false;            // some of it, to the speaker
    std::optional<Seconds> heard{};  // of its sound, as interrupt() was told; nothing: it was not
  };
  std::optional<LastAnswer> last_answer_;
  std::unique_ptr<Verifier> verifier_;
  std::unique_ptr<Generator> generator_;
  InputTimeSpeculator speculator_;
  std::optional<EndByWords> end_by_words_;  // once somebody has asked
};

}  // namespace predgen
