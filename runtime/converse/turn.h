#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "hear/transcripts/transcript_source.h"
#include "runtime/generate/generator.h"
#include "text/sentence/sentence_splitter.h"
#include "text/token_ids.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// When the model may work on a turn. kCascade: after the final event only (the baseline).
/// kPrefill: the prompt is cached as it arrives, no answer. kSpeculate: PredGen. kPreempt:
/// LiveKit's preemptive generation, a whole answer begun at a pause, useful if no other words
/// follow.
enum class InputTimeWork { kCascade, kPrefill, kSpeculate, kPreempt };

struct TurnConfig {
  InputTimeWork work = InputTimeWork::kSpeculate;
  SplitMode split_mode = SplitMode::kNatural;
  // A draft ends with its first sentence, or at these limits; then the model is idle until the next
  // event, except for SpeculationConfig::num_branches.
  int64_t max_draft_tokens = 64;   // the whole draft
  int64_t first_round_tokens = 0;  // new ones on a turn's first transcript; 0: any number
  int64_t later_round_tokens = 0;  // new ones on each later transcript; 0: any number
  // New ones in all drafts of a turn; 0: any number. If set, only the draft is explored.
  int64_t turn_draft_tokens = 0;
  int64_t max_new_tokens = 256;  // of the whole answer
  bool sound_ahead = true;       // what a voice gets first of a draft is synthesised ahead
  bool speaks_clauses = false;   // that is its first clause, where there is one (SpokenOpening)
  // No pass of a draft begins while TranscriptSource::expects_words(): the draft would be outdated
  // soon, and the recogniser needs the cores that the model runs on.
  bool yields_to_words = false;
  // Draft at pauses (Transcript::is_stable) only, while PauseHistory::can_wait(). Has no effect
  // with TurnObserver::on_end_by_words, which drafts answer.
  bool waits_for_pauses = false;
  /// Asked about a growing answer every 16 tokens: true ends it there, the same answers in every
  /// method. Empty: never asked.
  std::function<bool(TokenSpan answer, const std::string& text)> is_stuck{};
  /// Bytes of text kept in TurnResult::events; 0: events have no text.
  size_t trace_bytes = 0;
};

/// Times in seconds, null when the answer is empty. TTFS: from the final transcript until the first
/// sentence is confirmed, the pass in flight included; ttfs_paper: from the start of the final
/// verification; first_words: until what the voice gets first is. audio_latency: until its first
/// samples can be played. lead_time: how long before the final transcript the kept sentence's sound
/// was ready. NFE: forward passes.
struct TurnMetrics {
  std::optional<double> ttfs, ttfs_paper, first_words, audio_latency;
  std::optional<double> lead_time;
  std::optional<int64_t> nfe_to_first_sentence;
  bool first_sentence_kept = false;  // the first sentence was accepted whole by the final verify
  // It was complete when the final transcript came, and no pass was needed to confirm it.
  bool ready_before_end = false;
  int64_t speculative_nfe = 0, total_nfe = 0;
  // The passes of a draft model in these spans; the counts above exclude them.
  int64_t draft_model_nfe_to_first_sentence = 0, draft_model_speculative_nfe = 0,
          draft_model_total_nfe = 0;
  int64_t spec_tokens_drafted = 0, spec_tokens_accepted = 0, spec_tokens_wasted = 0;
  int64_t early_calls = 0, early_calls_kept = 0;  // begun before the final transcript (EarlyCalls)
  // As audio_latency, of the first sentence behind what a tool said.
  std::optional<double> result_audio_latency;
};

/// One thing that happened, for traces and the no-look-ahead test.
struct TurnEvent {
  enum class Kind {
    kTranscript,     // what was heard so far, not final
    kDraft,          // the draft after the pass that verified the one before
    kNotExplored,    // text: why nothing was explored beside the draft
    kFinal,          // the final transcript
    kRoundsDropped,  // text: how many old rounds are forgotten
    kFirstSentence,  // of the answer; it is confirmed
    kSentence,       // one after the first
    kDone,           // text: the whole answer
    kFailed,         // text: TurnError::text
  };

  Seconds time{0};
  Kind kind = Kind::kTranscript;
  std::string text;  // empty: not kept
};
std::string to_string(TurnEvent::Kind kind);  // "transcript", "draft", "not_explored", ...

/// Why a turn failed.
struct TurnError {
  enum class Kind {
    kConversation,  // the chat template or the tokenizer refuses the conversation with these words
    kContext,       // the prompt has more tokens than the context holds
    kVoice,         // the voice, or what plays it, is lost
    kOther,         // anything else, say a pass that runs out of memory
  };

  Kind kind = Kind::kOther;
  std::string text;  // one line
};

struct TurnResult {
  uint64_t number = 0;           // of the turn in its conversation
  std::string prompt_text;       // the final transcript
  TokenIds prompt;               // ids of the whole rendered prompt
  bool answers_partial = false;  // the answer is to an earlier transcript of the same words
  int64_t dropped_rounds = 0;  // oldest rounds forgotten, from this turn on: no room in the context
  TokenIds answer;             // stop token included
  std::string thought;         // what the model thought before it spoke
  int64_t thought_tokens = 0;  // with those of its marks
  std::string text;
  std::string first_sentence;
  int64_t first_sentence_tokens = 0;
  StopReason stop_reason = StopReason::kStopToken;  // of the answer, if there is no error
  TurnMetrics metrics;
  /// Before the final transcript only the first 4,096.
  std::vector<TurnEvent> events;
  std::vector<ToolCall> calls;  // function calls at its end; no ids unless the model gave one
  /// Of the rounds before, in which the answer called tools (ToolRounds).
  int64_t earlier_prompt_tokens = 0, earlier_answer_tokens = 0;
  /// Why the turn failed; the rest is then as far as it got, and the history omits the turn.
  std::optional<TurnError> error;
};

/// Adds what the next round of an answer gave, behind the tools that the last one has called.
void add_round(TurnResult& turn, TurnResult next);

/// A whole call in a draft.
struct DraftedCall {
  ToolCall call;
  std::string key;       // the same for the same call, however it is written
  int64_t num_kept = 0;  // later transcripts in a row, or a pause, that have kept it
};

/// Gets what a person may see. Draft text is not committed: only a local pane may show it.
struct TurnObserver {
  std::function<void(const Transcript&)> on_transcript = [](const Transcript&) {};
  /// The whole draft; its first `accepted_bytes` come from the pass that verified the previous
  /// draft: what it kept, and the token that it added.
  std::function<void(const std::string& draft, size_t accepted_bytes)> on_draft =
      [](const std::string&, size_t) {};
  /// The whole calls of the draft, after each transcript that has left it with some; not those
  /// behind results of tools.
  std::function<void(const std::vector<DraftedCall>&)> on_calls =
      [](const std::vector<DraftedCall>&) {};
  /// How likely the turn is over, judged by these words, from the pass that verifies the draft
  /// against them (EndByWords). Empty: passes do not compute it.
  std::function<void(const std::string& words, double probability)> on_end_by_words{};
  /// The draft's first sentence is complete, and its sound is being synthesised.
  std::function<void(const std::string& sentence)> on_first_sentence = [](const std::string&) {};
  std::function<void(const std::string& text)> on_text = [](const std::string&) {};  // committed
  std::function<void(int64_t dropped_rounds)> on_rounds_dropped = [](int64_t) {};
};

/// The fields of TurnMetrics under their names.
Json metrics_json(const TurnMetrics& metrics);

}  // namespace predgen
