#pragma once

#include <c10/core/StreamGuard.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "act/background_calls.h"
#include "act/servers/tool_servers.h"
#include "audio/audio_sink.h"
#include "audio/sample_ring.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/setting_flags.h"
#include "core/clock.h"
#include "model/load_options.h"
#include "runtime/converse/call_constraint.h"
#include "runtime/converse/session.h"
#include "runtime/converse/session_options.h"
#include "runtime/converse/tool_rounds.h"
#include "runtime/engine/engine.h"
#include "text/tokenizer.h"
#include "voice/voice.h"

namespace predgen::cli {

/// The options of commands in which one person talks to a model.
struct ConversationOptions {
  ModelOptions model;
  SessionOptions session;                 // the choices; the rest comes of what is below
  std::string draft_model, past_answers;  // empty: none
  SamplingFlags sampling;
  VoiceFlags voice;
  std::string audio_out = "play", chat_template;
  int audio_rate = 0;  // Hz; 0: the voice's
  bool overwrite = false;
  std::string mcp;  // a file of tool servers; empty: none
  ToolRoundOptions tool_rounds;

  /// `audio_out_name`: "--audio-out", say.
  void add_to(CLI::App& command, const std::string& audio_out_name);
  bool is_stdout_sound() const { return audio_out == "-" && voice.tts != "none"; }
  /// UserError if the sound would replace a file without --overwrite, or in any case `input`, which
  /// is read meanwhile. For before a model is loaded.
  void check_audio_out(const std::string& input) const;

 private:
  std::string audio_out_name_;
};

/// A model and a voice that are loaded, and the session between them. Used by one thread, in
/// LibTorch's inference mode.
class LoadedSession {
 public:
  /// `checkpoint`: of options.model. The clock outlives this. UserError for whatever cannot be.
  /// After a stop all waits throw Interrupted. `played`: begins if a loudspeaker plays the answers,
  /// and outlives this; null: nobody asks. `tells_ends`: TurnObserver::on_end_by_words is asked
  /// for. `on_loading`: of the model, but not of a draft model.
  LoadedSession(const ConversationOptions& options, std::unique_ptr<const Checkpoint> checkpoint,
                SystemClock& clock, const std::stop_token& stop, PlayedSound* played = nullptr,
                bool tells_ends = false, const LoadOptions::Progress& on_loading = {});

  Session& session() { return *session_; }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  Engine& engine() { return *engine_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Null: the model has no tools.
  ToolRounds* tools() { return rounds_ ? &*rounds_ : nullptr; }
  /// Null: there is no voice.
  AudioSink* sink() { return sink_.get(); }
  /// Returns when all sound was played; sound that fails is worth a message only.
  void drain();

 private:
  std::unique_ptr<const Checkpoint> checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::optional<Engine> engine_, draft_;
  std::optional<c10::StreamGuard> stream_;
  std::unique_ptr<const Voice> voice_;
  std::unique_ptr<SpeechSynthesizer> synthesizer_;
  std::unique_ptr<AudioSink> sink_;
  std::unique_ptr<act::ToolServers> servers_;
  std::optional<act::ThreadedCalls> calls_;
  std::optional<Session> session_;
  std::optional<GrammarCompiler> grammars_;
  std::optional<ToolRounds> rounds_;
};

}  // namespace predgen::cli
