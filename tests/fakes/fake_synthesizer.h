#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "voice/voice.h"

namespace predgen {

/// Speaks every sentence in `num_chunks` chunks of kChunk samples. A chunk comes when the test
/// releases it. Chunk c of the sentence S has the value pitch_of(S, c) in all its samples.
class FakeSynthesizer : public SpeechSynthesizer {
 public:
  static constexpr int kRate = 8;      // Hz
  static constexpr size_t kChunk = 4;  // samples: half a second

  explicit FakeSynthesizer(int num_chunks = 2) : num_chunks_(num_chunks) {}

  /// Different for sentences that begin with different characters.
  static float pitch_of(const std::string& sentence, int chunk) {
    return static_cast<float>(sentence.at(0)) / 256.0f + static_cast<float>(chunk) / 4096.0f;
  }
  std::vector<float> audio_of(const std::string& sentence) const {
    std::vector<float> audio;
    for (int c = 0; c < num_chunks_; ++c) audio.insert(audio.end(), kChunk, pitch_of(sentence, c));
    return audio;
  }

  int sample_rate() const override { return kRate; }
  std::string language() const override { return language_code; }

  std::unique_ptr<Synthesis> begin(const std::string& sentence) override {
    log(started_, sentence);
    if (sentence == fail_on) throw std::runtime_error("the voice is broken");
    return std::make_unique<Sentence>(*this, sentence);
  }

  void release(int chunks) {
    const std::lock_guard lock(mutex_);
    permits_ += chunks;
    changed_.notify_all();
  }
  void release_all() { release(1'000'000); }

  using Names = std::vector<std::string>;
  // Each returns the names so far once there are `count`; throws if they never come.
  Names started(size_t count) { return wait(started_, count); }
  Names delivered(size_t count) { return wait(delivered_, count); }  // chunks
  Names cancelled(size_t count) { return wait(cancelled_, count); }
  Names finished(size_t count) { return wait(finished_, count); }

  std::string fail_on, language_code = "en";
  std::function<void(const std::string&, int)> before_chunk = [](const std::string&, int) {};

 private:
  class Sentence : public Synthesis {
   public:
    Sentence(FakeSynthesizer& voice, std::string text) : voice_(voice), text_(std::move(text)) {}
    ~Sentence() override {
      if (chunk_ < voice_.num_chunks_) voice_.log(voice_.cancelled_, text_);
    }
    bool advance(std::vector<float>& samples) override {
      voice_.before_chunk(text_, chunk_);
      voice_.take_permit();
      samples.insert(samples.end(), kChunk, pitch_of(text_, chunk_));
      voice_.log(voice_.delivered_, text_);
      if (++chunk_ < voice_.num_chunks_) return true;
      voice_.log(voice_.finished_, text_);
      return false;
    }

   private:
    FakeSynthesizer& voice_;
    std::string text_;
    int chunk_ = 0;
  };

  void log(Names& names, const std::string& name) {
    const std::lock_guard lock(mutex_);
    names.push_back(name);
    changed_.notify_all();
  }
  Names wait(const Names& names, size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return names.size() >= count; })) {
      throw std::runtime_error("the fake voice waits in vain");
    }
    return names;
  }
  void take_permit() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return permits_ > 0; })) {
      throw std::runtime_error("nobody releases the fake voice's chunk");
    }
    --permits_;
  }

  static constexpr std::chrono::seconds kPatience{20};
  int num_chunks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int permits_ = 0;
  Names started_, delivered_, cancelled_, finished_;
};

}  // namespace predgen
