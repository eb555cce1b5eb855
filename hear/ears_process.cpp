#include "hear/ears_process.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/helper_process.h"
#include "core/log.h"
#include "core/text.h"

namespace predgen {

void EarsStreams::add(EarsListener& listener) {
  const Lock lock(mutex_);
  listeners_.insert(&listener);
}

std::vector<uint32_t> EarsStreams::remove(EarsListener& listener) {
  const Lock telling(telling_);
  const Lock lock(mutex_);
  listeners_.erase(&listener);
  std::vector<uint32_t> streams;
  std::erase_if(streams_, [&](const auto& entry) {
    if (entry.second.listener != &listener) return false;
    streams.push_back(entry.first);
    return true;
  });
  return streams;
}

uint32_t EarsStreams::open(EarsListener& listener) {
  const Lock lock(mutex_);
  streams_.emplace(++newest_, Stream{.listener = &listener});
  return newest_;
}

void EarsStreams::close(uint32_t stream) {
  const Lock lock(mutex_);
  streams_.erase(stream);
}

bool EarsStreams::is_open(uint32_t stream) {
  const Lock lock(mutex_);
  return streams_.contains(stream);
}

bool EarsStreams::is_empty() {
  const Lock lock(mutex_);
  return streams_.empty();
}

bool EarsStreams::add_waiting(uint32_t stream, size_t num_samples, size_t most) {
  const Lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return true;
  if (found->second.num_waiting + num_samples > most) return false;
  found->second.num_waiting += num_samples;
  return true;
}

void EarsStreams::remove_waiting(uint32_t stream, size_t num_samples) {
  const Lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second.num_waiting -= num_samples;
}

EarsListener* EarsStreams::listener_of(uint32_t stream) {
  const Lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second.listener;
}

void EarsStreams::tell_heard(uint32_t stream, const RecognisedSegment& segment) {
  const Lock telling(telling_);
  if (EarsListener* const listener = listener_of(stream)) listener->on_heard(stream, segment);
}

void EarsStreams::tell_done(uint32_t stream) {
  const Lock telling(telling_);
  EarsListener* const listener = listener_of(stream);
  close(stream);
  if (listener != nullptr) listener->on_done(stream);
}

std::set<EarsListener*> EarsStreams::listeners() {
  const Lock lock(mutex_);
  return listeners_;
}

void EarsStreams::tell_lost(const std::string& why, bool is_starting) {
  const Lock telling(telling_);
  uint32_t last = 0;
  {
    const Lock lock(mutex_);
    streams_.clear();
    last = newest_;
  }
  for (EarsListener* const listener : listeners()) listener->on_lost(why, is_starting, last);
}

void EarsStreams::tell_started() {
  const Lock telling(telling_);
  for (EarsListener* const listener : listeners()) listener->on_started();
}

std::filesystem::path ears_program(const EarsOptions& options) {
  std::filesystem::path program =
      options.program.empty()
          ? std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-ears"
          : options.program;
  if (!std::filesystem::exists(program)) {
    throw UserError(
        "hearing needs the program {}, which is missing: run scripts/setup.sh and build with "
        "-DPREDGEN_SPEECH=ON",
        program.string());
  }
  return program;
}

std::vector<std::string> ears_arguments(const EarsOptions& options) {
  std::vector<std::string> arguments{"--recogniser",     options.recogniser.string(),
                                     "--voice-activity", options.voice_activity.string(),
                                     "--language",       options.language,
                                     "--threads",        std::to_string(options.num_threads)};
  if (!options.fast_recogniser.empty()) {
    arguments.insert(arguments.end(), {"--fast-recogniser", options.fast_recogniser.string()});
  }
  if (!options.end_of_turn.empty()) {
    arguments.insert(arguments.end(), {"--end-of-turn", options.end_of_turn.string()});
  }
  return arguments;
}

namespace asio = boost::asio;

namespace {

using Code = boost::system::error_code;
using Type = EarsFrame::Type;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSoon{5};  // an end so soon after the start is no accident
constexpr double kLongestPause = 30;      // seconds until it is tried again

std::string ended_at_once(const std::filesystem::path& program) {
  return fmt::format("has ended at once: run {} by hand to see why, or fetch its models again",
                     program.string());
}

size_t num_samples_of(const EarsFrame& frame) {
  return frame.type == Type::kSound ? frame.payload.size() / sizeof(float) : 0;
}

}  // namespace

struct EarsProcess::Running {
  explicit Running(asio::io_context& context) : socket(context) {}

  std::unique_ptr<HelperProcess> process;
  asio::local::stream_protocol::socket socket;
  EarsFrameReader reader;
  std::array<char, 65536> buffer{};
  std::string writing;
  bool is_ready = false, is_asked = false;
  SteadyClock::time_point began = SteadyClock::now();
};

EarsProcess::EarsProcess(const EarsOptions& options)
    : options_(options),
      program_(ears_program(options)),
      work_(context_.get_executor()),
      thread_([this] { run(); }) {
  asio::post(context_, [this] { start(); });
  const std::string failure = started_.get_future().get();
  if (failure.empty()) return;
  context_.stop();
  thread_.join();
  throw UserError("the recogniser {}", failure);
}

EarsProcess::~EarsProcess() {
  context_.stop();
  thread_.join();
}

void EarsProcess::run() {
  while (!context_.stopped()) {
    try {
      context_.run();
    } catch (const std::exception& error) {
      lose(fmt::format("cannot be asked: {}", first_line(error.what())));
    }
  }
}

void EarsProcess::remove(EarsListener& listener) {
  for (const uint32_t stream : streams_.remove(listener)) drop(stream);
}

bool EarsProcess::send(uint32_t stream, std::span<const float> samples) {
  constexpr size_t kMost = kMaxEarsPayload / sizeof(float);
  const auto most = static_cast<size_t>(options_.limits.waiting_seconds * kRecogniserRate);
  if (!streams_.add_waiting(stream, samples.size(), most)) return false;
  for (; !samples.empty(); samples = samples.subspan(std::min(kMost, samples.size()))) {
    const auto part = samples.first(std::min(kMost, samples.size()));
    post({.type = Type::kSound, .stream = stream, .payload = samples_to_bytes(part)});
  }
  return true;
}

void EarsProcess::drop(uint32_t stream) {
  streams_.close(stream);
  post({.type = Type::kDrop, .stream = stream});
}

void EarsProcess::post(EarsFrame frame) {
  asio::post(context_,
             [this, moved = std::move(frame)]() mutable { send_frame(std::move(moved)); });
}

void EarsProcess::forget(const EarsFrame& frame) {
  streams_.remove_waiting(frame.stream, num_samples_of(frame));
}

void EarsProcess::send_frame(EarsFrame frame) {
  const bool is_dropped = frame.type == Type::kDrop;
  if (is_dropped || !streams_.is_open(frame.stream)) {
    std::erase_if(outbox_, [&](const EarsFrame& waiting) {
      if (waiting.stream != frame.stream) return false;
      forget(waiting);
      return true;
    });
  }
  if (is_dropped || streams_.is_open(frame.stream)) {
    outbox_.push_back(std::move(frame));
  } else {
    forget(frame);
  }
  if (running_ && running_->is_ready && !running_->is_asked) ask();
  write();
}

void EarsProcess::start() {
  running_ = std::make_shared<Running>(context_);
  try {
    running_->process = std::make_unique<HelperProcess>(
        program_, HelperOptions{.arguments = ears_arguments(options_), .niceness = 0});
  } catch (const Error& error) {
    return lose(fmt::format("does not run: {}", error.what()));
  }
  pid_ = running_->process->pid();
  const int socket = ::fcntl(running_->process->socket(), F_DUPFD_CLOEXEC, 0);
  running_->socket.assign(asio::local::stream_protocol(), socket);
  expect_within(options_.limits.load_seconds, "has not loaded its models in time");
  read();
  write();
}

template <class Then>
auto EarsProcess::of_process(Then then) {
  return [this, then, of = running_](const Code& error, size_t count) {
    if (of == running_) then(error, count);
  };
}

void EarsProcess::write() {
  constexpr size_t kMostBytes = 1 << 17;
  if (!running_ || !running_->writing.empty() || outbox_.empty()) return;
  Running& to = *running_;
  while (!outbox_.empty() && to.writing.size() < kMostBytes) {
    to.writing += to_bytes(outbox_.front());
    forget(outbox_.front());
    outbox_.pop_front();
  }
  asio::async_write(to.socket, asio::buffer(to.writing),
                    [this, of = running_](const Code& error, size_t) {
                      of->writing.clear();
                      if (of == running_ && !error) write();  // an error is read, too
                    });
}

void EarsProcess::read() {
  running_->socket.async_read_some(
      asio::buffer(running_->buffer), of_process([this](const Code& error, size_t count) {
        if (error) return lose(running_->is_ready ? "has ended" : ended_at_once(program_));
        const std::shared_ptr<Running> of = running_;
        of->reader.add({of->buffer.data(), count});
        try {
          while (const auto frame = of->reader.next()) {
            take(*frame);
            if (of != running_) return;
          }
        } catch (const UserError& failure) {
          return lose(fmt::format("has sent what is no result: {}", failure.what()));
        }
        read();
      }));
}

void EarsProcess::take(const EarsFrame& frame) {
  switch (frame.type) {
    case Type::kReady:
      running_->is_ready = true;
      timer_.cancel();
      if (std::exchange(is_first_, false)) {
        started_.set_value({});  // from here on there may be listeners, who were promised a start
      } else {
        streams_.tell_started();
      }
      return streams_.is_empty() ? void() : ask();
    case Type::kHeard:
      return streams_.tell_heard(frame.stream, segment_from_json(frame.payload));
    case Type::kDone:
      return streams_.tell_done(frame.stream);
    case Type::kPong:
      timer_.expires_after(steady_seconds(options_.limits.ping_seconds));
      timer_.async_wait([this, of = running_](const Code& error) {
        if (error || of != running_) return;
        of->is_asked = false;
        if (!streams_.is_empty()) ask();
      });
      return;
    case Type::kFailure:
      return lose(fmt::format("has failed: {}", first_line(frame.payload)));
    default:
      throw UserError("a frame has the type {}", static_cast<char>(frame.type));
  }
}

void EarsProcess::ask() {
  running_->is_asked = true;
  outbox_.push_back({.type = Type::kPing});
  write();
  expect_within(options_.limits.answer_seconds, "does not answer");
}

void EarsProcess::expect_within(double seconds, const std::string& failure) {
  timer_.expires_after(steady_seconds(seconds));
  timer_.async_wait([this, failure, of = running_](const Code& error) {
    // It may have been postponed when this call was already queued.
    const bool is_over = timer_.expiry() <= SteadyClock::now();
    if (!error && is_over && of == running_) lose(failure);
  });
}

void EarsProcess::lose(const std::string& why) {
  const bool was_ready = running_ && running_->is_ready;
  const bool is_soon = !was_ready || SteadyClock::now() - running_->began < kSoon;
  if (running_) {
    Code ignored;
    running_->socket.close(ignored);
    running_->process.reset();
    running_.reset();
  }
  pid_ = -1;
  timer_.cancel();
  for (const EarsFrame& frame : outbox_) forget(frame);
  outbox_.clear();
  if (std::exchange(is_first_, false)) return started_.set_value(why);
  num_failures_ = is_soon ? num_failures_ + 1 : 0;
  spdlog::warn("the recogniser {}; it is started again", why);
  start_again();
  streams_.tell_lost(why, num_failures_ < 2);
}

void EarsProcess::start_again() {
  const double pause =
      num_failures_ == 0
          ? 0
          : std::min(kLongestPause, options_.limits.again_seconds * std::exp2(num_failures_ - 1));
  pause_.expires_after(steady_seconds(pause));
  pause_.async_wait([this](const Code& error) {
    if (!error && !running_) start();
  });
}

}  // namespace predgen
