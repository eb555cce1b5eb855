#pragma once

#include <list>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "serve/serve_config.h"
#include "serve/wyoming/satellite_talk.h"

namespace predgen::serve {

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
