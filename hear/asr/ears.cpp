#include "hear/asr/ears.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/error.h"

namespace predgen::ears {

using Type = EarsFrame::Type;

Ears::Ears(MakeHearVoice make_hear_voice, const DecoderPace& pace)
    : make_hear_voice_(std::move(make_hear_voice)), pace_(pace) {}

Ear& Ears::ear_of(uint32_t stream) {
  if (const auto found = streams_.find(stream); found != streams_.end()) return found->second.ear;
  if (over_.contains(stream)) throw UserError("stream {} is over", stream);
  if (streams_.size() >= kMostStreams) throw UserError("there are {} streams", kMostStreams);
  return streams_.emplace(stream, Stream{.ear = Ear(make_hear_voice_(), pace_)}).first->second.ear;
}

void Ears::take(const EarsFrame& frame) {
  switch (frame.type) {
    case Type::kSound:
      ear_of(frame.stream).add(samples_from_bytes(frame.payload));
      return tell(frame.stream);
    case Type::kEnd:
      ear_of(frame.stream).finish();
      return tell(frame.stream);
    case Type::kDrop:
      if (streams_.contains(frame.stream)) end(frame.stream);
      return;
    default:
      throw UserError("a frame has the type {}, which is not for this program",
                      static_cast<char>(frame.type));
  }
}

std::optional<std::vector<float>> Ears::take_turn_sound(uint32_t stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? std::nullopt : found->second.ear.take_turn_sound();
}

void Ears::set_end(uint32_t stream, double probability) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.ear.set_end(probability);
  tell(stream);
}

void Ears::tell(uint32_t stream) {
  Ear& ear = streams_.at(stream).ear;
  while (const auto news = ear.take_news()) {
    frames_.push_back({.type = Type::kHeard, .stream = stream, .payload = segment_to_json(*news)});
  }
  if (!ear.is_done()) return;
  frames_.push_back({.type = Type::kDone, .stream = stream});
  end(stream);
}

void Ears::end(uint32_t stream) {
  streams_.erase(stream);
  over_.insert(stream);
  if (over_.size() > kMostStreams) over_.erase(over_.begin());
  ended_.push_back(stream);
}

std::optional<DecodeJob> Ears::next_job() {
  Stream* next = nullptr;
  uint32_t number = 0;
  for (auto& [stream, state] : streams_) {
    const Need need = state.ear.need();
    if (need == Need::kNothing) continue;
    const bool is_first = next == nullptr || need > next->ear.need() ||
                          (need == next->ear.need() && state.served < next->served);
    if (!is_first) continue;
    next = &state;
    number = stream;
  }
  if (next == nullptr) return std::nullopt;
  next->served = ++num_jobs_;
  DecodeJob job = next->ear.begin_decode();
  job.stream = number;
  running_ = {.stream = number, .need = job.need};
  return job;
}

bool Ears::is_late() const {
  if (!running_) return false;
  const auto found = streams_.find(running_->stream);
  if (found == streams_.end() || found->second.ear.is_late()) return true;
  return running_->need == Need::kPartial && !found->second.ear.was_stopped() &&
         std::ranges::any_of(streams_, [](const auto& stream) {
           return stream.second.ear.need() > Need::kPartial;
         });
}

void Ears::finish_job(const DecodeJob& job, const std::optional<Decoded>& decoded) {
  running_.reset();
  const auto found = streams_.find(job.stream);
  if (found == streams_.end()) return;  // dropped meanwhile
  found->second.ear.end_decode(job, decoded);
  tell(job.stream);
}

std::vector<EarsFrame> Ears::take_frames() { return std::exchange(frames_, {}); }
std::vector<uint32_t> Ears::take_ended() { return std::exchange(ended_, {}); }

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
