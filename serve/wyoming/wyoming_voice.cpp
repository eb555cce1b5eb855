#include "serve/wyoming/wyoming_voice.h"

#include <algorithm>
#include <utility>

#include "audio/sample_encoding.h"
#include "core/error.h"
#include "core/log.h"
#include "runtime/speech/speaker.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

constexpr size_t kMostSentences = 4, kMostBytes = 400;

}  // namespace

SpokenAhead::SpokenAhead(const Voice& voice)
    : voice_(voice), thread_([this](const std::stop_token& stop) { work(stop); }) {}

SpokenAhead::~SpokenAhead() = default;

void SpokenAhead::expect(const std::string& sentence) {
  if (sentence.size() > kMostBytes) return;
  const Lock lock(mutex_);
  if (name_.empty()) return;
  kept_.push_back(std::make_shared<Spoken>(Spoken{.name = name_, .sentence = sentence}));
  if (kept_.size() > kMostSentences) kept_.pop_front();
  changed_.notify_all();
}

bool SpokenAhead::speak(const std::string& name, const std::string& sentence,
                        const std::stop_token& stop,
                        const std::function<bool(std::span<const float> samples)>& take) {
  Lock lock(mutex_);
  name_ = name.empty() ? voice_.names().front() : name;
  const auto found = std::ranges::find_if(kept_, [&](const auto& one) REQUIRES(mutex_) {
    return one->name == name_ && one->sentence == sentence;
  });
  if (found == kept_.end()) return false;
  const std::shared_ptr<Spoken> spoken = *found;
  kept_.erase(found);
  if (!spoken->has_begun) return false;  // who asks is as fast
  size_t passed = 0;
  while (true) {
    const auto has_more = [&]() REQUIRES(mutex_) {
      return spoken->is_over || spoken->samples.size() > passed;
    };
    if (!changed_.wait(lock, stop, has_more)) return true;
    if (spoken->samples.size() == passed) {
      if (spoken->is_broken && passed > 0) throw Error("a voice has failed within a sentence");
      return passed > 0;
    }
    const std::vector<float> more(spoken->samples.begin() + static_cast<std::ptrdiff_t>(passed),
                                  spoken->samples.end());
    passed += more.size();
    lock.unlock();
    if (!take(more)) return true;
    lock.lock();
  }
}

std::shared_ptr<SpokenAhead::Spoken> SpokenAhead::next() {
  const auto waiting = std::ranges::find_if(kept_, [](const auto& one) { return !one->has_begun; });
  return waiting == kept_.end() ? nullptr : *waiting;
}

void SpokenAhead::work(const std::stop_token& stop) {
  std::string name;
  std::unique_ptr<SpeechSynthesizer> synthesizer;
  while (true) {
    std::shared_ptr<Spoken> spoken;
    {
      Lock lock(mutex_);
      const auto has_next = [&]() REQUIRES(mutex_) { return (spoken = next()) != nullptr; };
      if (!changed_.wait(lock, stop, has_next)) return;
      spoken->has_begun = true;
    }
    bool is_broken = false;
    try {
      if (!synthesizer || name != spoken->name) synthesizer = voice_.synthesizer(spoken->name);
      name = spoken->name;
      speak_sentence(
          *synthesizer, spoken->sentence, [&] { return !stop.stop_requested(); },
          [&](std::span<const float> samples) {
            const Lock lock(mutex_);
            spoken->samples.insert(spoken->samples.end(), samples.begin(), samples.end());
            changed_.notify_all();
            return true;
          });
    } catch (const std::exception& error) {  // who asks for it is told
      spdlog::debug("a sentence is not spoken ahead: {}", error.what());
      synthesizer.reset();
      is_broken = true;
    }
    const Lock lock(mutex_);
    spoken->is_broken = is_broken;
    spoken->is_over = true;
    changed_.notify_all();
  }
}

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
