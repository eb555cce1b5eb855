#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "serve/wyoming/wyoming_hearing.h"
#include "serve/wyoming/wyoming_host.h"

namespace predgen::serve {

/// Handles a connection's events: hears sound, answers transcripts, and makes sound for texts. Used
/// by the connection's thread; borrows both.
class WyomingClient : public WyomingReceiver {
 public:
  /// `peer`: the client's address.
  WyomingClient(const WyomingHost& host, WyomingSender& sender, std::string peer = {})
      : host_(host), sender_(sender), peer_(std::move(peer)) {}
  /// Ends work in progress.
  ~WyomingClient() override;

  /// Unknown events are ignored, as the protocol requires.
  void take(const WyomingEvent& event) override;
  void drain() override;

 private:
  using Action = void (WyomingClient::*)(const Json& data);
  static const std::map<std::string, Action>& actions();

  void describe(const Json& data);
  void ping(const Json& data);
  void begin_transcript(const Json& data);
  void add_transcript(const Json& data);
  void finish_transcript(const Json& data);
  void stop_transcript(const Json& data);
  void transcribe(const Json& data);
  void begin_sound(const Json& data);
  void stop_sound(const Json& data);
  void synthesize(const Json& data);
  void begin_synthesis(const Json& data);
  void add_synthesis(const Json& data);
  void stop_synthesis(const Json& data);
  void refuse(const Json& data);

  /// Begins a turn of the conversation that `data`'s context names, or takes over the one that was
  /// heard with this text. False: not possible, which the client was told.
  bool enter(const Json& data, const std::string& text = {});
  void hear(const TranscriptLine& line);
  void leave();
  void tell(const ApiError& error, const Json& context);
  WyomingHearing& hearing();
  WyomingVoice& voice();
  void begin_text(const Json& data, bool is_stream);
  /// Empty: the client asks for none.
  std::string voice_name(const Json& data) const;
  /// An answer or a text.
  void finish_one();
  void close_if_drained();

  const WyomingHost& host_;
  WyomingSender& sender_;
  const std::string peer_;
  std::shared_ptr<WyomingConversation> conversation_;  // of the turn that was begun last
  Json context_;                                       // of the same
  std::optional<std::string> words_;                   // of a transcript that comes in pieces
  bool ignores_words_ = false;                         // there can be no turn for them
  bool has_stream_ = false;                            // of text to be spoken
  std::atomic<bool> has_turn_ = false;                 // it is not over
  std::atomic<bool> is_asked_ = false;                 // it waits only for the rest of the answer
  bool was_asked_ = false;                             // when the turn ended; its thread's
  std::atomic<int64_t> num_under_way_ = 0;  // answers, transcripts, and texts to be spoken
  std::atomic<bool> is_draining_ = false;
  std::optional<WyomingHearing> hearing_;  // this and the next are last: they use the others
  std::optional<WyomingVoice> voice_;
};

}  // namespace predgen::serve
