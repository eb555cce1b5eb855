#include "serve/wyoming/wyoming_satellites.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "serve/wyoming/wyoming_connection.h"

namespace predgen::serve {
namespace {

/// No end: a satellite says nothing for as long as nobody speaks to it.
constexpr double kYears = 1e8;
constexpr double kLongestPause = 30;  // seconds, between tries
/// A connection that lasted so long was wanted.
constexpr std::chrono::seconds kWhole{5};

/// A satellite's connection, which the talk outlives.
class SatelliteReceiver : public WyomingReceiver {
 public:
  SatelliteReceiver(SatelliteTalk& talk, WyomingSender& sender) : talk_(talk) {
    talk_.use(&sender);
  }
  ~SatelliteReceiver() override { talk_.use(nullptr); }
  void take(const WyomingEvent& event) override { talk_.take(event); }
  void drain() override { talk_.drain(); }

 private:
  SatelliteTalk& talk_;
};

}  // namespace

SatelliteAddress satellite_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::string host = text.substr(0, std::min(colon, text.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool is_number = !port.empty() && port.size() <= 5 &&
                         port.find_first_not_of("0123456789") == std::string::npos;
  const int number = is_number ? std::stoi(port) : 0;
  if (host.empty() || host.find('/') != std::string::npos || number < 1 || number > 65535) {
    throw UserError("--satellite {}: must be HOST:PORT, such as kitchen.local:10700", text);
  }
  return {.host = host, .port = number};
}

WyomingSatellites::WyomingSatellites(const std::vector<std::string>& addresses,
                                     const HttpLimits& limits, const RealtimeHost& host)
    : limits_(limits) {
  limits_.silence_seconds = limits_.session_seconds = kYears;
  for (const std::string& name : addresses) satellites_.emplace_back(name, host);
}

void WyomingSatellites::run(const std::stop_token& stop) {
  std::stop_source stop_all;
  std::list<std::jthread> threads;
  for (Satellite& satellite : satellites_) {
    threads.emplace_back(
        [this, &satellite, stop, now = stop_all.get_token()] { keep(satellite, stop, now); });
  }
  wait_until(std::chrono::steady_clock::time_point::max(), stop);
  std::jthread grace([&](const std::stop_token& all_over) {
    wait_until(std::chrono::steady_clock::now() + steady_seconds(limits_.grace_seconds), all_over);
    stop_all.request_stop();
  });
  threads.clear();  // joined
}

void WyomingSatellites::keep(Satellite& satellite, const std::stop_token& drain,
                             const std::stop_token& stop) const {
  double pause = 1;
  while (!drain.stop_requested()) {
    try {
      const bool has_lasted = visit(satellite, drain, stop);
      if (drain.stop_requested()) return;
      if (has_lasted) pause = 1;
      tell(satellite, has_lasted ? Satellite::State::kGone : Satellite::State::kTaken,
           "it has ended the connection");
    } catch (const Interrupted&) {
      return;
    } catch (const std::exception& error) {
      tell(satellite, Satellite::State::kGone, first_line(error.what()));
    }
    wait_until(std::chrono::steady_clock::now() + steady_seconds(pause), drain);
    pause = std::min(2 * pause, kLongestPause);
  }
}

bool WyomingSatellites::visit(Satellite& satellite, const std::stop_token& drain,
                              const std::stop_token& stop) const {
  WyomingConnection connection(limits_, [&](WyomingSender& sender, const std::string&) {
    return std::make_unique<SatelliteReceiver>(satellite.talk, sender);
  });
  connection.connect(satellite.address.host, satellite.address.port, drain);
  const auto begin = std::chrono::steady_clock::now();
  if (satellite.told != Satellite::State::kTaken) tell(satellite, Satellite::State::kThere);
  connection.serve(drain, stop);
  return std::chrono::steady_clock::now() - begin > kWhole;
}

void WyomingSatellites::tell(Satellite& satellite, Satellite::State state, const std::string& why) {
  if (std::exchange(satellite.told, state) == state) return;
  const std::string& name = satellite.name;
  if (state == Satellite::State::kThere) {
    spdlog::info("the satellite {} is there", name);
  } else if (state == Satellite::State::kGone) {
    spdlog::warn("the satellite {} is not there, and is tried again: {}", name, why);
  } else {
    spdlog::warn(
        "the satellite {} ends connections at once, and is tried again: another server "
        "has it, such as Home Assistant",
        name);
  }
}

}  // namespace predgen::serve
