#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "audio/audio_sink.h"
#include "core/clock.h"
#include "core/error.h"
#include "voice/voice.h"

namespace predgen {

/// A virtual clock on which things happen: whoever sleeps or lets time pass runs what is due.
class EventClock : public VirtualClock {
 public:
  EventClock() : VirtualClock(Computation::kCostTable) {}

  void at(Seconds time, std::function<void()> event) { events_.emplace(time, std::move(event)); }
  void after(double seconds, std::function<void()> event) {
    at(now() + Seconds(seconds), std::move(event));
  }
  void sleep_until(Seconds time) override {
    while (!events_.empty() && events_.begin()->first <= time) step();
    VirtualClock::sleep_until(time);
  }
  void run_due() { sleep_until(now()); }
  /// Sleeps until the next event, and runs it.
  void step() {
    if (events_.empty()) throw Error("deadlock: nothing will ever happen");
    auto first = events_.extract(events_.begin());
    VirtualClock::sleep_until(first.key());
    first.mapped()();
  }
  size_t num_events() const { return events_.size(); }

 private:
  std::multimap<Seconds, std::function<void()>> events_;
};

/// Samples are numbered, so that each can be told from all others.
class NumberedVoice : public SpeechSynthesizer {
 public:
  static constexpr int kRate = 500, kPerCharacter = 20;  // Hz, samples

  int sample_rate() const override { return kRate; }
  std::string language() const override { return "en"; }
  std::unique_ptr<Synthesis> begin(const std::string& spoken) override {
    if (is_dead) throw Error("the voice is dead");
    return std::make_unique<Sentence>(*this, kPerCharacter * spoken.size());
  }

  bool is_dead = false;
  int64_t num_samples = 0;  // of all that was made

 private:
  struct Sentence : Synthesis {
    Sentence(NumberedVoice& of, size_t count) : voice(of), left(count) {}
    bool advance(std::vector<float>& samples) override {
      for (size_t count = std::min<size_t>(left, 100); count > 0; --count, --left) {
        samples.push_back(static_cast<float>(voice.num_samples++));
      }
      return left > 0;
    }
    NumberedVoice& voice;
    size_t left;
  };
};

/// A loudspeaker by the clock, which may be slow to take samples, stand still, or be broken.
class Loudspeaker : public AudioSink {
 public:
  explicit Loudspeaker(EventClock& clock) : clock_(clock) {}

  void write(std::span<const float> samples) override {
    if (is_broken) {
      for (const float sample : samples) dropped.insert(static_cast<int64_t>(sample));
      throw Error("the loudspeaker is broken");
    }
    clock_.sleep_until(clock_.now() + Seconds(slowness));
    play();
    queue_.insert(queue_.end(), samples.begin(), samples.end());
  }
  void clear() override {
    play();
    for (const float sample : queue_) dropped.insert(static_cast<int64_t>(sample));
    queue_.clear();
  }
  void drain() override {}
  int64_t num_played() const override {
    play();
    return num_played_;
  }
  void expect_nothing() override {}
  int64_t num_underruns() const override { return 0; }
  void give_up() override {}
  void set_gain(float gain) override {
    play();
    if (gain > 0 && gain_ == 0 && repeats && last_ > 0) queue_.push_front(last_);
    gain_ = gain;
  }
  float gain() const { return gain_; }
  size_t num_queued() const { return queue_.size(); }
  void stand_still(bool stands) {
    play();
    stands_still_ = stands;
  }
  bool stands_still() const { return stands_still_; }

  std::function<void(int64_t sample)> on_heard = [](int64_t) {};
  double slowness = 0;  // seconds of each write
  bool is_broken = false;
  std::set<int64_t> dropped{};  // samples that were written, and will not be played
  bool repeats = false;         // a planted fault: the last sample before a pause comes twice

 private:
  void play() const {
    const Seconds now = clock_.now();
    if (queue_.empty() || gain_ == 0 || stands_still_) begin_ = now;
    const Seconds sample{1.0 / NumberedVoice::kRate};
    for (; !queue_.empty() && begin_ + sample <= now + sample / 1000; begin_ += sample) {
      last_ = queue_.front();
      queue_.pop_front();
      ++num_played_;
      on_heard(static_cast<int64_t>(last_));
    }
  }

  EventClock& clock_;
  float gain_ = 1;
  bool stands_still_ = false;
  mutable std::deque<float> queue_;
  mutable Seconds begin_{0};  // when the first of the queue begins
  mutable int64_t num_played_ = 0;
  mutable float last_ = 0;
};

}  // namespace predgen
