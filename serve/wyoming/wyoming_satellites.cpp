#include "serve/wyoming/wyoming_satellites.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "audio/sample_encoding.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "hear/recogniser.h"
#include "serve/api_error.h"
#include "serve/wyoming/wyoming_connection.h"

namespace predgen::serve {
namespace {

constexpr Seconds kForgotten(300);  // as Home Assistant has it
/// Sound without a word, and of one turn, after which it is over.
constexpr int64_t kSilentTurn = 15 * kRecogniserRate, kLongestTurn = 60 * kRecogniserRate;

/// Does it, unless there is nothing to do it with.
void try_to(const std::function<void()>& work) {
  try {
    work();
  } catch (const ApiError& error) {
    spdlog::debug("a satellite's turn: {}", error.what());
  }
}

}  // namespace

SatelliteTalk::SatelliteTalk(const RealtimeHost& host, std::string name)
    : host_(host), name_(std::move(name)) {
  renew_conversation();
}

SatelliteTalk::~SatelliteTalk() = default;

void SatelliteTalk::renew_conversation() {
  conversation_.reset();
  {
    const Lock lock(mutex_);
    is_broken_ = is_answering_ = false;
  }
  serve::ConversationListener& self = *this;
  conversation_ = std::make_unique<RealtimeConversation>(host_, self, name_, kRecogniserRate);
}

void SatelliteTalk::use(WyomingSender* sender) {
  bool is_over = false;
  {
    const Lock lock(mutex_);
    sender_ = sender;
    is_listening_ = is_draining_ = false;
    if (sender_ != nullptr) {
      send("run-satellite");
      send("ping");  // newer ones then look whether this is still here
    }
    is_over = sender_ == nullptr && is_answering_;
  }
  if (is_over) try_to([this] { conversation_->dialogue().cancel(""); });
}

void SatelliteTalk::take(const WyomingEvent& event) {
  if (event.type == "audio-chunk") return add_sound(event);
  if (event.type == "run-pipeline") return begin_turn(event.data);
  if (event.type == "audio-stop") return end_turn();
  if (event.type != "ping") return;
  const Lock lock(mutex_);
  send("pong", event.data);
}

void SatelliteTalk::begin_turn(const Json& run) {
  const std::string first = json_get<std::string>(run, "start_stage", "run-pipeline");
  const std::string last = json_get<std::string>(run, "end_stage", "run-pipeline");
  if (first != "asr") {
    const std::string why = fmt::format(
        "the satellite asks for a pipeline from '{}', and only 'asr' is possible here: it must "
        "find its wake phrase itself (--wake-uri of wyoming-satellite)",
        first);
    if (!std::exchange(has_refused_, true)) spdlog::warn("{}: {}", name_, why);
    const Lock lock(mutex_);
    return send("error", {{"text", why}, {"code", "unsupported"}});
  }
  bool is_over = false;
  {
    const Lock lock(mutex_);
    is_over = is_broken_;
    is_listening_ = false;
  }
  if (is_over || host_.clock.now() - used_ > kForgotten) renew_conversation();
  used_ = host_.clock.now();
  // Who speaks over an answer does not want the rest of it.
  try_to([this] { conversation_->dialogue().cancel(""); });
  conversation_->input().clear_sound();
  RealtimeSettings settings = conversation_->dialogue().settings();
  const bool has_audio = last == "tts" && host_.offer.voice != nullptr;
  if (std::exchange(settings.has_audio, has_audio) != has_audio) {
    conversation_->update(std::move(settings), {}, "");
  }
  format_ = nullptr;
  num_samples_ = 0;
  const Lock lock(mutex_);
  is_listening_ = true;
  has_speech_ = false;
}

void SatelliteTalk::add_sound(const WyomingEvent& chunk) {
  bool has_speech = false;
  {
    const Lock lock(mutex_);
    if (!is_listening_) return;  // until the satellite knows that the turn is over
    has_speech = has_speech_;
  }
  if (format_.is_null()) {
    sound_.begin(chunk.data, "audio-chunk");
    format_ = chunk.data;
  }
  const std::vector<float> samples = sound_.add(chunk.payload);
  num_samples_ += std::ssize(samples);
  conversation_->input().add_sound(samples);
  if (num_samples_ < (has_speech ? kLongestTurn : kSilentTurn)) return;
  if (has_speech) return end_turn();
  conversation_->input().clear_sound();
  const Lock lock(mutex_);
  if (is_listening_) give_up();
}

void SatelliteTalk::end_turn() {
  {
    const Lock lock(mutex_);
    if (!is_listening_) return;
  }
  try {
    if (!format_.is_null()) conversation_->input().add_sound(sound_.finish());
    conversation_->input().commit_sound();
    conversation_->dialogue().respond(
        {.settings = conversation_->dialogue().settings(), .answers_words = true});
  } catch (const ApiError&) {  // too little sound for words
    const Lock lock(mutex_);
    if (is_listening_) give_up();
  }
}

void SatelliteTalk::drain() {
  const Lock lock(mutex_);
  is_draining_ = true;
  close_if_drained();
}

void SatelliteTalk::close_if_drained() {
  if (is_draining_ && !is_answering_ && sender_ != nullptr) sender_->close();
}

void SatelliteTalk::send(const std::string& type, const Json& data, std::string payload) {
  if (sender_ == nullptr) return;
  sender_->send({.type = type, .data = data, .payload = std::move(payload)});
}

void SatelliteTalk::give_up() {
  is_listening_ = false;
  send("transcript", {{"text", ""}});
}

void SatelliteTalk::on_event(const ConversationEvent& event) {
  const Lock lock(mutex_);
  std::visit([this](const auto& one) REQUIRES(mutex_) { take(one); }, event);
}

void SatelliteTalk::take(const SpeechStarted& speech) {
  has_speech_ = true;
  send("voice-started", {{"timestamp", speech.milliseconds}});
}

void SatelliteTalk::take(const TurnSpoken& spoken) {
  if (!std::exchange(is_listening_, false)) return;
  send("voice-stopped", {{"timestamp", spoken.turn.stopped_at.value_or(0)}});
  send("transcript", {{"text", spoken.turn.text}, {"language", host_.offer.language}});
}

void SatelliteTalk::take(const ResponseBegun&) {
  is_answering_ = true;
  text_.clear();
  num_sent_.reset();
}

void SatelliteTalk::take(const SoundAdded& more) {
  const Json format{{"rate", kRealtimeRate},
                    {"width", sizeof(int16_t)},
                    {"channels", 1},
                    {"timestamp", num_sent_.value_or(0) * 1000 / kRealtimeRate}};
  if (!num_sent_) send("audio-start", format);
  send("audio-chunk", format,
       std::string(bytes_of(std::vector<int16_t>(more.samples.begin(), more.samples.end()))));
  num_sent_ = num_sent_.value_or(0) + std::ssize(more.samples);
}

void SatelliteTalk::take(const ResponseDone& done) {
  const ResponseStatus status = done.end.status;
  if (status == ResponseStatus::kFailed) {
    send("error", {{"text", done.end.error ? done.end.error->what() : kServerFault},
                   {"code", "not-handled"}});
  } else if (status == ResponseStatus::kCompleted || status == ResponseStatus::kIncomplete) {
    send(done.response.settings.has_audio ? "synthesize" : "handled", {{"text", text_}});
  }
  if (num_sent_) send("audio-stop", {{"timestamp", *num_sent_ * 1000 / kRealtimeRate}});
  is_answering_ = false;
  close_if_drained();
}

void SatelliteTalk::take(const Failure& failure) {
  send("error", {{"text", failure.error.what()}, {"code", failure.error.code()}});
  if (is_listening_) give_up();
}

void SatelliteTalk::take(const ConversationEnded&) {
  is_broken_ = true;
  is_answering_ = false;
  if (is_listening_) give_up();
  close_if_drained();
}

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
