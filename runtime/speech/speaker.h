#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "runtime/speech/spoken_answer.h"
#include "voice/voice.h"

namespace predgen {

/// What happened to the sound of one turn.
struct SpeechReport {
  std::optional<Seconds> first_audio;  // when the first samples could be played
  std::optional<Seconds> ready_ahead;  // when the kept sentence's buffer was ready, if prepared
  int64_t sentences = 0;
  int64_t prepared = 0;              // sentences synthesised ahead, kept or not
  std::optional<std::string> error;  // the voice or the sink was lost: not all was heard
  int64_t underruns = 0;             // gaps in the sound: device buffers that waited for samples
};

/// Speaks the answers of a conversation: synthesises the first sentence ahead of the user's last
/// word, keeps it if the sentence stays, speaks the answer sentence by sentence. Called by one
/// thread.
class Speaker {
 public:
  virtual ~Speaker() = default;

  /// Starts synthesising `sentence` in the background. The same sentence again changes nothing; a
  /// different one cancels what was prepared.
  virtual void prepare(const std::string& sentence) = 0;

  /// Whether the prepared sentence could be played at once. Any thread.
  virtual bool is_ready_ahead() const = 0;

  /// The answer is final from here on: speak this sentence after those said before. One that was
  /// prepared is played from its buffer at once.
  virtual void say(const std::string& sentence) = 0;

  /// While `urgent`, the language model has a verification to run and synthesis waits after the
  /// step that is under way.
  virtual void give_way(bool urgent) = 0;

  /// Drops what was prepared and not said, waits until everything said is in the sink, and starts
  /// afresh for the next turn. Interrupted if `stop` ends the wait; then cancel_turn().
  virtual SpeechReport finish_turn(const std::stop_token& stop = {}) = 0;

  /// Drops everything that was not played yet, earlier turns included, and starts afresh for the
  /// next turn.
  virtual void cancel_turn() = 0;

  /// The last answer of which something was said, even after its turn: it may still be playing.
  /// nullopt: no sound.
  virtual std::optional<SpokenAnswer> spoken() const = 0;
};

/// No voice: text only.
class SilentSpeaker : public Speaker {
 public:
  void prepare(const std::string&) override {}
  bool is_ready_ahead() const override { return false; }
  void say(const std::string&) override {}
  void give_way(bool) override {}
  SpeechReport finish_turn(const std::stop_token& = {}) override { return {}; }
  void cancel_turn() override {}
  std::optional<SpokenAnswer> spoken() const override { return std::nullopt; }
};

/// Synthesis waits while this lives, or until end(): the language model has a verification to run.
/// Borrows the speaker.
class SynthesisPause {
 public:
  explicit SynthesisPause(Speaker& speaker) : speaker_(speaker) { speaker.give_way(true); }
  ~SynthesisPause() { end(); }
  SynthesisPause(const SynthesisPause&) = delete;
  SynthesisPause& operator=(const SynthesisPause&) = delete;
  void end() {
    if (std::exchange(active_, false)) speaker_.give_way(false);
  }

 private:
  Speaker& speaker_;
  bool active_ = true;
};

/// Returns true when the last answer was played, false when none of it was played for a second: its
/// device is gone. Interrupted if `stop` comes first; it is checked every 20 ms.
bool wait_until_heard(const Speaker& speaker, Clock& clock, const std::stop_token& stop);

/// Has `voice` say one sentence of an answer's text, in the spoken form of its language; does
/// nothing if that has no word. `goes_on` is asked before each step, `take` gets the step's
/// samples, if any: false from either breaks the sentence off and is returned.
bool speak_sentence(SpeechSynthesizer& voice, std::string_view sentence,
                    const std::function<bool()>& goes_on,
                    const std::function<bool(std::span<const float>)>& take);

}  // namespace predgen
