#pragma once

#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "serve/realtime/realtime_conversation.h"
#include "serve/serve_config.h"
#include "serve/wyoming/wyoming_event.h"

namespace predgen::serve {

/// A spoken conversation with a satellite: a small computer with microphone and loudspeaker that
/// finds its wake phrase itself. What it hears then is one turn, and what it is sent is what Home
/// Assistant would send: the words that were heard, and the answer's sound. It goes on over later
/// connections, and a new one begins after five minutes. Used by one thread; borrows the host.
class SatelliteTalk : private ConversationListener {
 public:
  /// The host has a recogniser. `name`: of the satellite, for the engine lock.
  SatelliteTalk(const RealtimeHost& host, std::string name);
  ~SatelliteTalk() override;

  /// A connection begins: the satellite is to listen for its wake phrase. Null: it has ended.
  void use(WyomingSender* sender);
  /// UserError for an event that cannot be understood; unknown ones are ignored.
  void take(const WyomingEvent& event);
  /// Closes the connection once no answer is under way.
  void drain();

 private:
  void begin_turn(const Json& run);
  void add_sound(const WyomingEvent& chunk);
  /// The sound has ended, whatever was heard in it.
  void end_turn();
  void renew_conversation();

  void on_event(const ConversationEvent& event) override;
  void take(const SpeechStarted& speech) REQUIRES(mutex_);
  void take(const TurnSpoken& spoken) REQUIRES(mutex_);
  void take(const ResponseBegun&) REQUIRES(mutex_);
  void take(const TextAdded& more) REQUIRES(mutex_) { text_ += more.text; }
  void take(const SoundAdded& more) REQUIRES(mutex_);
  void take(const ResponseDone& done) REQUIRES(mutex_);
  void take(const Failure& failure) REQUIRES(mutex_);
  void take(const ConversationEnded&) REQUIRES(mutex_);
  template <class Other>
  void take(const Other&) {}
  void send(const std::string& type, const Json& data = Json::object(), std::string payload = {})
      REQUIRES(mutex_);
  /// The turn is over without words: the satellite listens for its wake phrase again.
  void give_up() REQUIRES(mutex_);
  void close_if_drained() REQUIRES(mutex_);

  const RealtimeHost& host_;
  const std::string name_;
  WyomingSound sound_;
  Json format_;               // of the sound; null: none came in this turn
  int64_t num_samples_ = 0;   // of the turn, at the recogniser's rate
  Seconds used_{0};           // the conversation, last
  bool has_refused_ = false;  // a pipeline, which the log says
  Mutex mutex_;
  WyomingSender* sender_ GUARDED_BY(mutex_) = nullptr;  // null: there is no connection
  bool is_listening_ GUARDED_BY(mutex_) = false;        // to a turn
  bool has_speech_ GUARDED_BY(mutex_) = false;          // in it
  bool is_answering_ GUARDED_BY(mutex_) = false;
  bool is_draining_ GUARDED_BY(mutex_) = false;
  bool is_broken_ GUARDED_BY(mutex_) = false;
  std::string text_ GUARDED_BY(mutex_);                 // of the answer
  std::optional<int64_t> num_sent_ GUARDED_BY(mutex_);  // samples of its sound; nullopt: none yet
  std::unique_ptr<RealtimeConversation> conversation_;  // last: its threads use the others
};

/// Where a satellite listens, as HOST:PORT has it.
struct SatelliteAddress {
  std::string host;
  int port = 0;
};
/// UserError if it is none. An IPv6 address stands in brackets.
SatelliteAddress satellite_address(const std::string& text);

/// Connects to satellites, which are servers, and speaks with each as long as it is there; one that
/// is gone is tried again, after 1 s, 2 s, .. up to 30 s.
class WyomingSatellites {
 public:
  /// UserError for an address that is none. Borrows the host.
  WyomingSatellites(const std::vector<std::string>& addresses, const HttpLimits& limits,
                    const RealtimeHost& host);

  /// Until `stop`; then answers under way may take up to limits.grace_seconds.
  void run(const std::stop_token& stop);

 private:
  struct Satellite {
    Satellite(std::string named, const RealtimeHost& host)
        : name(std::move(named)),
          address(satellite_address(name)),
          talk(host, "satellite " + name) {}

    const std::string name;
    const SatelliteAddress address;
    SatelliteTalk talk;
    enum class State { kNew, kThere, kGone, kTaken } told = State::kNew;  // in the log
  };
  /// Connects again and again. `drain`: ends what is idle; `stop`: everything.
  void keep(Satellite& satellite, const std::stop_token& drain, const std::stop_token& stop) const;
  /// Whether the connection lasted. Error if there is none.
  bool visit(Satellite& satellite, const std::stop_token& drain, const std::stop_token& stop) const;
  static void tell(Satellite& satellite, Satellite::State state, const std::string& why = {});

  HttpLimits limits_;
  std::list<Satellite> satellites_;
};

}  // namespace predgen::serve
