#include "hear/transcribe.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/mutex.h"
#include "text/words.h"

namespace predgen {
namespace {

constexpr int64_t kLongestRecording = 4 * 3600;  // seconds
/// How much sound a recogniser that tells how far it is may have before it has heard it, and how
/// long news of it are waited for.
constexpr int64_t kFarAhead = 60 * kRecogniserRate;
constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr int kMostLooks = 40;

double seconds_of(int64_t samples) { return static_cast<double>(samples) / kRecogniserRate; }

/// What the recogniser tells, by its thread.
class Told : public RecogniserHandler {
 public:
  void on_segment(int64_t /*utterance*/, const RecognisedSegment& segment) override {
    const Lock lock(mutex_);
    if (segment.number != number_) end_segment();
    number_ = segment.number;
    if (segment.voice) {
      until_ = std::max(until_, segment.voice->until);
      heard_ = std::max({heard_.value_or(0), until_, segment.voice->heard.value_or(0)});
      if (now_.empty()) since_ = std::max(segment.voice->since, ended_);
    }
    now_ = segment.text;
    if (segment.is_over) end_segment();
    changed_.notify_all();
  }
  void on_end(int64_t /*utterance*/) override {
    const Lock lock(mutex_);
    end_segment();
    is_over_ = true;
    changed_.notify_all();
  }
  void on_failure(const std::string& why) override {
    const Lock lock(mutex_);
    failure_ = why;
    changed_.notify_all();
  }

  /// The parts that became known since the last call. RecogniserError.
  std::vector<HeardPart> take() {
    const Lock lock(mutex_);
    if (failure_) throw RecogniserError("the recogniser {}", *failure_);
    return std::exchange(parts_, {});
  }
  /// Waits for news, but not for long.
  void wait() {
    Lock lock(mutex_);
    if (parts_.empty() && !is_over_ && !failure_) changed_.wait_for(lock.native(), kBetweenLooks);
  }
  bool is_over() {
    const Lock lock(mutex_);
    return is_over_ && parts_.empty();
  }
  /// Whether sound up to this sample would be far ahead of what was heard.
  bool is_far_ahead(int64_t num_samples) {
    const Lock lock(mutex_);
    return heard_ && num_samples > *heard_ + kFarAhead;
  }
  void note_sent(int64_t num_samples) {
    const Lock lock(mutex_);
    sent_ = num_samples;
  }

 private:
  void end_segment() REQUIRES(mutex_) {
    if (now_.empty()) return;
    const int64_t end = heard_ ? std::max(until_, since_) : sent_;
    parts_.push_back({std::exchange(now_, {}), seconds_of(since_), seconds_of(end)});
    ended_ = since_ = end;
  }

  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<HeardPart> parts_ GUARDED_BY(mutex_);  // not taken yet
  std::string now_ GUARDED_BY(mutex_);               // of the segment under way
  int64_t number_ GUARDED_BY(mutex_) = 0;
  std::optional<int64_t> heard_ GUARDED_BY(mutex_);  // samples; nullopt: it does not tell
  // Samples: sent; the segment's voice; the end of the segment before.
  int64_t sent_ GUARDED_BY(mutex_) = 0;
  int64_t since_ GUARDED_BY(mutex_) = 0, until_ GUARDED_BY(mutex_) = 0;
  int64_t ended_ GUARDED_BY(mutex_) = 0;
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::optional<std::string> failure_ GUARDED_BY(mutex_);
};

}  // namespace

std::string Transcription::text() const {
  std::string all;
  for (const HeardPart& part : parts) all = joined_words(all, part.text);
  return all;
}

Transcription transcribe(SoundInMemory& sound, const MakeRecogniser& make_recogniser,
                         const std::function<void(const HeardPart&)>& on_part,
                         const std::function<bool()>& goes_on) {
  Transcription transcription;
  Told told;
  const std::unique_ptr<Recogniser> recogniser = make_recogniser(told);
  const auto look = [&] {
    for (HeardPart& part : told.take()) {
      if (on_part) on_part(part);
      transcription.parts.push_back(std::move(part));
    }
    return goes_on();
  };
  int64_t num_sent = 0;
  for (std::vector<float> block = sound.read(); !block.empty(); block = sound.read()) {
    const auto size = std::ssize(block);
    for (int looks = 0; told.is_far_ahead(num_sent + size) && looks < kMostLooks; ++looks) {
      if (!look()) return transcription;
      told.wait();
    }
    while (!recogniser->add(0, block)) {
      if (!look()) return transcription;
      told.wait();
    }
    num_sent += size;
    told.note_sent(num_sent);
    transcription.seconds = seconds_of(num_sent);
    if (num_sent > kLongestRecording * kRecogniserRate) {
      throw UserError("is longer than {} hours", kLongestRecording / 3600);
    }
    if (!look()) return transcription;
  }
  recogniser->finish(0);
  while (!told.is_over()) {
    if (!look()) return transcription;
    told.wait();
  }
  return transcription;
}

}  // namespace predgen
