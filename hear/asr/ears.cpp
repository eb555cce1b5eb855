#include "hear/asr/ears.h"

#include <algorithm>
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

}  // namespace predgen::ears
