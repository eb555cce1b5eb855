#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/word_stream.h"
#include "core/json.h"
#include "core/machine_use.h"
#include "runtime/converse/conversation_events.h"
#include "runtime/converse/tool_event.h"

namespace predgen::cli {

/// How long the user waited, and for what, from the last sample of the voice to the first sound of
/// the answer, in seconds.
struct VoiceToVoice {
  double recogniser = 0;          // until the last words were known
  double end_of_turn = 0;         // from then on until the turn was over
  double model = 0;               // until the first sentence was confirmed
  std::optional<double> voice{};  // until its first sample could be played; nullopt: no voice

  /// nullopt if the answer is empty.
  static std::optional<VoiceToVoice> of(const TurnMetrics& metrics, const SpokenTimes& times);
  double total() const { return recogniser + end_of_turn + model + voice.value_or(0); }
};

/// What a spoken conversation shows: on a terminal the transcript as it changes, and the draft;
/// committed text, and a line about each turn's wait. Used by one thread, but for SpeechLost,
/// NothingHeard and AwakeChanged.
class TalkView : public ConversationListener {
 public:
  /// `is_json`: stdout gets one document in finish(), nothing else.
  TalkView(bool is_json, std::FILE* text_output);

  void on_event(const ConversationEvent& event) override;
  /// What happens to a call of a tool.
  void show_call(const ToolEvent& event);
  /// Prints a line for a person.
  void say(const std::string& line);
  void finish();
  /// Those that were answered, broken off or failed.
  int64_t num_turns() const { return num_turns_; }
  int64_t num_failed() const { return num_failed_; }

 private:
  void show(const Heard& heard);
  void show(const Drafted& drafted);
  void show(const SentenceDrafted&) {}
  void show(const Said& said);
  void show(const CallsDrafted& calling);
  void show(const RoundsDropped& dropped);
  void show(const Answered& answered);
  void show(const SoundStuck&);
  void show(const BrokenOff& broken);
  void show(const SpeechLost& lost);
  void show(const NothingHeard&) { say("[no words were heard]"); }
  void show(const AwakeChanged& changed) {
    say(changed.is_awake ? "[awake]" : "[asleep until the wake phrase is heard]");
  }
  void show(const SpeechBegun&) {}
  void show(const WordsHeard&) {}
  void show(const TurnHeard&) {}
  void print(const std::string& text);
  /// Replaces the last line of this kind; empty: none.
  void show_line(const std::string& line);
  void show_heard();

  const bool is_json_, is_terminal_;
  std::FILE* const text_output_;
  WordStream words_;
  bool has_line_ = false, has_ended_ = false;  // the turn, except for its sound
  std::string heard_, draft_;
  int64_t num_turns_ = 0, num_failed_ = 0;
  std::vector<Transcript> transcripts_;                 // of the turn, in JSON
  MachineUse before_{};                                 // the first of them
  Json turns_ = Json::array(), calls_ = Json::array();  // calls: of the turn
};

}  // namespace predgen::cli
