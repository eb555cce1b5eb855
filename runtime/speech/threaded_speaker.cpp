#include "runtime/speech/threaded_speaker.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "runtime/speech/speech_text.h"

namespace predgen {

ThreadedSpeaker::ThreadedSpeaker(SpeechSynthesizer& synthesizer, AudioSink& sink,
                                 const Clock& clock, Options options)
    : synthesizer_(synthesizer),
      sink_(sink),
      clock_(clock),
      max_ahead_(static_cast<size_t>(options.ahead.count() * synthesizer.sample_rate())),
      synthesis_([this] { run_synthesis(); }),
      playback_([this] { run_playback(); }) {}

ThreadedSpeaker::~ThreadedSpeaker() {
  {
    const Lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  synthesis_.join();
  playback_.join();
}

void ThreadedSpeaker::prepare(const std::string& sentence) {
  const Lock lock(mutex_);
  if (prepared_ && prepared_->text == sentence) return;
  cancel_prepared();
  if (speakable_text(sentence).empty()) return;
  prepared_ = std::make_shared<Utterance>(Utterance{.text = sentence, .prepared = true});
  queue_.push_back(prepared_);
  changed_.notify_all();
}

void ThreadedSpeaker::say(const std::string& sentence) {
  const Lock lock(mutex_);
  ++report_.sentences;
  if (prepared_ && prepared_->text == sentence) {
    std::exchange(prepared_, nullptr)->said = true;
  } else {
    cancel_prepared();
    queue_.push_back(std::make_shared<Utterance>(Utterance{.text = sentence, .said = true}));
  }
  changed_.notify_all();
}

SpeechReport ThreadedSpeaker::finish_turn() {
  Lock lock(mutex_);
  cancel_prepared();
  changed_.wait(lock, [&] { return queue_.empty(); });
  failed_ = false;
  return std::exchange(report_, {});
}

void ThreadedSpeaker::cancel_prepared() {
  if (!prepared_) return;
  prepared_->cancelled = true;
  std::erase(queue_, prepared_);
  prepared_ = nullptr;
  changed_.notify_all();
}

void ThreadedSpeaker::report_failure(const char* what, const std::exception& error) {
  failed_ = true;
  if (!std::exchange(failure_logged_, true)) {
    spdlog::error("{} failed, answers go on as text: {}", what, error.what());
  }
}

void ThreadedSpeaker::run_synthesis() {
  Lock lock(mutex_);
  while (true) {
    auto next = queue_.end();
    changed_.wait(lock, [&] {
      next = std::ranges::find(queue_, false, [](const auto& u) { return u->started; });
      return stop_ || next != queue_.end();
    });
    if (stop_) return;
    const std::shared_ptr<Utterance> utterance = *next;
    utterance->started = true;
    if (!failed_) {
      if (!utterance->said) ++report_.prepared;
      lock.unlock();
      try {
        synthesizer_.synthesize(utterance->text, [&](std::span<const float> samples) {
          return take_samples(*utterance, samples);
        });
        lock.lock();
      } catch (const std::exception& error) {
        lock.lock();
        if (!utterance->cancelled) report_failure("speech synthesis", error);
      }
    }
    utterance->finished = true;
    changed_.notify_all();
  }
}

bool ThreadedSpeaker::take_samples(Utterance& utterance, std::span<const float> samples) {
  Lock lock(mutex_);
  if (utterance.cancelled || stop_) return false;
  if (!utterance.ready) utterance.ready = clock_.now();
  utterance.samples.insert(utterance.samples.end(), samples.begin(), samples.end());
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return utterance.said || utterance.cancelled || stop_ || utterance.samples.size() < max_ahead_;
  });
  return !utterance.cancelled && !stop_;
}

void ThreadedSpeaker::run_playback() {
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      if (stop_) return true;
      if (queue_.empty() || !queue_.front()->said) return false;
      return queue_.front()->finished || !queue_.front()->samples.empty();
    });
    if (stop_) return;
    const std::shared_ptr<Utterance> utterance = queue_.front();
    const std::vector<float> samples = std::exchange(utterance->samples, {});
    if (samples.empty()) {  // finished
      queue_.pop_front();
      changed_.notify_all();
      continue;
    }
    if (failed_) continue;
    if (utterance->prepared && !report_.ready_ahead) report_.ready_ahead = utterance->ready;
    if (!report_.first_audio) report_.first_audio = clock_.now();
    lock.unlock();
    try {
      sink_.write(samples);
      lock.lock();
    } catch (const std::exception& error) {
      lock.lock();
      report_failure("audio output", error);
    }
  }
}

}  // namespace predgen
