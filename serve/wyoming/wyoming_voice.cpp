#include "serve/wyoming/wyoming_voice.h"

#include <utility>

#include "audio/pcm16.h"
#include "core/error.h"
#include "runtime/speech/speak_sentence.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

constexpr size_t kBytesPerStep = 64;  // what one takes besides its text

}  // namespace

WyomingVoice::WyomingVoice(const Voice& voice, SpokenAhead* ahead, int64_t max_bytes,
                           WyomingSender& sender, std::function<void()> on_spoken)
    : voice_(voice),
      ahead_(ahead),
      max_bytes_(static_cast<size_t>(max_bytes)),
      sender_(sender),
      on_spoken_(std::move(on_spoken)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

WyomingVoice::~WyomingVoice() = default;

void WyomingVoice::begin(const std::string& voice, bool is_stream) {
  // Leaves room for the end.
  push({.kind = Step::Kind::kBegin, .text = voice, .is_stream = is_stream},
       voice.size() + 2 * kBytesPerStep);
}

void WyomingVoice::add(const std::string& text) {
  push({.kind = Step::Kind::kText, .text = text}, text.size() + kBytesPerStep);
}

void WyomingVoice::end() { push({.kind = Step::Kind::kEnd}, 0); }

void WyomingVoice::push(Step step, size_t num_bytes) {
  const Lock lock(mutex_);
  if (num_bytes_ + num_bytes > max_bytes_) {
    throw UserError("more than {} bytes of text wait to be spoken", max_bytes_);
  }
  num_bytes_ += num_bytes;
  steps_.push_back(std::move(step));
  changed_.notify_all();
}

void WyomingVoice::work(const std::stop_token& stop) {
  try {
    while (true) {
      Step step;
      {
        Lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&]() REQUIRES(mutex_) { return !steps_.empty(); })) return;
        step = std::move(steps_.front());
        steps_.pop_front();
      }
      take(step, stop);
    }
  } catch (const UserError& error) {
    sender_.send(error_event(error.what(), "invalid_value"));
  } catch (const std::exception& error) {
    sender_.send(error_event(server_fault("a voice", error).what(), "server_error"));
  }
  sender_.close();
}

void WyomingVoice::take(const Step& step, const std::stop_token& stop) {
  if (step.kind == Step::Kind::kText) {
    num_text_bytes_ += step.text.size();
    text_ += thoughts_.push(step.text).said;
    forget(kBytesPerStep);
    return speak(/*is_last=*/false, stop);
  }
  if (step.kind == Step::Kind::kBegin) {
    if (!synthesizer_ || step.text != name_) synthesizer_ = voice_.synthesizer(step.text);
    name_ = step.text;
    is_stream_ = step.is_stream;
    text_.clear();
    thoughts_ = ThoughtParser();
    num_text_bytes_ = 0;
    spoken_ = 0;
    ends_ = {};
    num_samples_ = 0;
    return sender_.send({.type = "audio-start", .data = format()});
  }
  text_ += thoughts_.finish().said;
  speak(/*is_last=*/true, stop);
  forget(num_text_bytes_ + name_.size() + 2 * kBytesPerStep);
  sender_.send({.type = "audio-stop", .data = {{"timestamp", format()["timestamp"]}}});
  if (is_stream_) sender_.send({.type = "synthesize-stopped"});
  on_spoken_();
}

void WyomingVoice::forget(size_t num_bytes) {
  const Lock lock(mutex_);
  num_bytes_ -= num_bytes;
}

void WyomingVoice::speak(bool is_last, const std::stop_token& stop) {
  while (const std::optional<size_t> end = ends_.next(text_, is_last)) {
    const std::string sentence = text_.substr(spoken_, *end - spoken_);
    const auto take = [&](std::span<const float> samples) { return send_sound(samples, stop); };
    if (!ahead_ || !ahead_->speak(name_, sentence, stop, take)) {
      speak_sentence(
          *synthesizer_, sentence, [&] { return !stop.stop_requested(); }, take);
    }
    spoken_ = *end;
  }
}

bool WyomingVoice::send_sound(std::span<const float> samples, const std::stop_token& stop) {
  if (!sender_.wait_for_room(stop)) return false;
  const std::vector<int16_t> pcm = to_pcm16(samples);
  sender_.send({.type = "audio-chunk", .data = format(), .payload = std::string(bytes_of(pcm))});
  num_samples_ += std::ssize(pcm);
  return true;
}

Json WyomingVoice::format() const {
  return {{"rate", synthesizer_->sample_rate()},
          {"width", sizeof(int16_t)},
          {"channels", 1},
          {"timestamp", num_samples_ * 1000 / synthesizer_->sample_rate()}};
}

}  // namespace predgen::serve
