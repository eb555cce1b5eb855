#include "hear/asr/service.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace predgen::ears {

using Type = EarsFrame::Type;

Service::Service(int in, int out, Decoder& decoder, MakeHearVoice make_hear_voice,
                 JudgeEnd judge_end)
    : in_(in),
      out_(out),
      decoder_(decoder),
      judge_end_(std::move(judge_end)),
      ears_(std::move(make_hear_voice), decoder.pace()) {}

void Service::write_frame(int out, const EarsFrame& frame) {
  const std::string bytes = to_bytes(frame);
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t n = ::write(out, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);
    written += static_cast<size_t>(n);
  }
}

void Service::run() {
  EarsFrameReader reader;
  std::array<char, 65536> bytes{};
  while (true) {
    const ssize_t n = ::read(in_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    reader.add({bytes.data(), static_cast<size_t>(n)});
    while (const auto frame = reader.next()) take(*frame);
  }
}

void Service::take(const EarsFrame& frame) {
  Lock lock(mutex_);
  if (frame.type == Type::kPing) {
    // The decoding thread answers, so that the client notices a decode that does not end.
    pings_.push_back({.type = Type::kPong, .stream = frame.stream, .payload = frame.payload});
  } else {
    ears_.take(frame);
    if (ears_.is_late()) stop_.request_stop();
  }
  tell();
  changed_.notify_one();
  const auto sound = judge_end_ ? ears_.take_turn_sound(frame.stream) : std::nullopt;
  if (!sound) return;
  lock.unlock();  // which takes as long as a window of sound
  const double probability = judge_end_(*sound);
  lock.lock();
  ears_.set_end(frame.stream, probability);
  tell();
}

void Service::tell() {
  // With the mutex held, so that frames of a stream stay in order.
  for (const EarsFrame& frame : ears_.take_frames()) write_frame(out_, frame);
}

void Service::decode() {
  Lock lock(mutex_);
  while (true) {
    for (; !pings_.empty(); pings_.pop_front()) write_frame(out_, pings_.front());
    for (const uint32_t stream : ears_.take_ended()) decoder_.forget(stream);
    const auto job = ears_.next_job();
    if (!job) {
      changed_.wait(lock.native());
      continue;
    }
    stop_ = {};
    const std::stop_token stop = stop_.get_token();
    lock.unlock();
    const auto decoded = decoder_.decode(*job, stop);
    lock.lock();
    ears_.finish_job(*job, decoded);
    tell();
  }
}

}  // namespace predgen::ears
