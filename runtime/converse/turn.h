#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "runtime/converse/history.h"
#include "runtime/input/transcript_source.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speech/speaker.h"
#include "text/sentence/sentence_splitter.h"
#include "text/tokenizer.h"

namespace predgen {

/// When the model may work on a turn. kCascade: after the final event only (the baseline).
/// kPrefill: the prompt is cached as it arrives, no answer. kSpeculate: PredGen.
enum class InputTimeWork { kCascade, kPrefill, kSpeculate };

struct TurnConfig {
  InputTimeWork work = InputTimeWork::kSpeculate;
  SplitMode split_mode = SplitMode::kNatural;
  // A draft is as long as its first sentence, but grows no further than this; then idle until the
  // next event.
  int64_t max_draft_tokens = 64;   // the whole draft
  int64_t first_round_tokens = 0;  // new ones on a turn's first transcript; 0: any number
  int64_t later_round_tokens = 0;  // new ones on each later transcript; 0: any number
  int64_t max_new_tokens = 256;    // of the whole answer
};

/// The metrics of DESIGN section 2; times in seconds, null when the answer is empty.
struct TurnMetrics {
  std::optional<double> ttfs, ttfs_paper, audio_latency;
  std::optional<double> lead_time;
  std::optional<int64_t> nfe_to_first_sentence;
  bool first_sentence_kept = false;  // the first sentence was accepted whole by the final verify
  int64_t speculative_nfe = 0, total_nfe = 0;
  int64_t spec_tokens_drafted = 0, spec_tokens_accepted = 0, spec_tokens_wasted = 0;
};

/// One thing that happened, for traces and the no-look-ahead test.
struct TurnEvent {
  Seconds time{0};
  // "transcript", "draft", "final", "rounds_dropped" (text: how many), "first_sentence",
  // "sentence", "done"
  std::string kind;
  std::string text;
};

struct TurnResult {
  std::string prompt_text;     // the final transcript
  TokenIds prompt;             // ids of the whole rendered prompt
  int64_t dropped_rounds = 0;  // oldest rounds forgotten, from this turn on: no room in the context
  TokenIds answer;             // stop token included
  std::string text;
  std::string first_sentence;
  int64_t first_sentence_tokens = 0;
  TurnMetrics metrics;
  std::vector<TurnEvent> events;
};

/// Told what a person may see. Draft text is not committed: only a local pane may show it.
struct TurnObserver {
  std::function<void(const Transcript&)> on_transcript = [](const Transcript&) {};
  std::function<void(const std::string& draft)> on_draft = [](const std::string&) {};
  std::function<void(const std::string& text)> on_text = [](const std::string&) {};  // committed
  std::function<void(int64_t dropped_rounds)> on_rounds_dropped = [](int64_t) {};
};

/// A conversation: its history, and turns one after the other. Nothing is spoken, stored or shown
/// before the final transcript has confirmed it. Used by one thread; borrows everything.
///
/// When the context has no room left for history, prompt and answer, the oldest rounds are dropped,
/// the system prompt is kept; the result and the observer say so. How many depends on the history
/// and the transcript alone, so it is the same in every method. UserError if a prompt does not fit
/// even without history.
class Conversation {
 public:
  /// `system_prompt` empty: none. The model is wrapped by the caller if passes shall be priced
  /// (PricedModel). After a stop, run_turn() throws Interrupted between two passes.
  Conversation(const TurnConfig& config, const Tokenizer& tokenizer,
               InputTimeSpeculator& speculator, Speaker& speaker, Clock& clock,
               const std::string& system_prompt, std::stop_token stop);

  /// Replaces the history (user and assistant messages in turn) and prefills its cache together
  /// with the system prompt; the time for that is not part of a turn. Without this call the first
  /// turn's first pass runs the system prompt.
  void set_history(const std::vector<Message>& history);

  /// Runs one turn until the answer is complete and spoken; nothing if the source has ended before
  /// a final transcript. Times in the result are the clock's.
  std::optional<TurnResult> run_turn(TranscriptSource& source, const TurnObserver& observer = {});

 private:
  History::Room room() const;
  /// Work on a transcript that is not final; returns as soon as a newer one is there.
  void work_ahead(const Transcript& heard, TranscriptSource& source, const TurnObserver& observer,
                  TurnResult& result);
  void draft_answer(const Transcript& heard, TokenSpan prompt, TranscriptSource& source,
                    const TurnObserver& observer, TurnResult& result);
  /// Verifies the draft against the final transcript, says and shows the whole answer.
  void answer(const Transcript& heard, const TurnObserver& observer, TurnResult& result);
  void remember(const TurnResult& result);

  TurnConfig config_;
  const Tokenizer& tokenizer_;
  InputTimeSpeculator& speculator_;
  Speaker& speaker_;
  Clock& clock_;
  History history_;
  const std::stop_token stop_;
};

}  // namespace predgen
