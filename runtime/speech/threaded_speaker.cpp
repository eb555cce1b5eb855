#include "runtime/speech/threaded_speaker.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "text/spoken/speech_text.h"

namespace predgen {

ThreadedSpeaker::ThreadedSpeaker(SpeechSynthesizer& synthesizer, AudioSink& sink,
                                 const Clock& clock, const AheadBuffer& ahead, std::stop_token stop)
    : synthesizer_(synthesizer),
      sink_(sink),
      clock_(clock),
      ahead_(ahead),
      stop_(std::move(stop)),
      track_(sink, synthesizer.sample_rate()),
      synthesis_([this](const std::stop_token& end) { run_synthesis(end); }),
      playback_([this](const std::stop_token& end) { run_playback(end); }) {
  speakable_text("One.", synthesizer.language());  // makes its patterns before the first turn
}

void ThreadedSpeaker::prepare(const std::string& sentence) {
  if (prepared(sentence)) return;
  std::string spoken = speakable_text(sentence, synthesizer_.language());
  const Lock lock(mutex_);
  cancel_prepared();
  if (spoken.empty()) return;
  prepared_ = std::make_shared<Utterance>(
      Utterance{.text = sentence, .spoken = std::move(spoken), .prepared = true});
  queue_.push_back(prepared_);
  changed_.notify_all();
}

bool ThreadedSpeaker::is_ready_ahead() const {
  const Lock lock(mutex_);
  return prepared_ && prepared_->ready;
}

void ThreadedSpeaker::say(const std::string& sentence) {
  std::shared_ptr<Utterance> utterance = prepared(sentence);
  if (!utterance) {
    utterance = std::make_shared<Utterance>(
        Utterance{.text = sentence, .spoken = speakable_text(sentence, synthesizer_.language())});
  }
  const Lock lock(mutex_);
  ++report_.sentences;
  if (utterance == prepared_) {
    prepared_ = nullptr;
  } else {
    cancel_prepared();
    queue_.push_back(utterance);
  }
  utterance->said = true;
  utterance->place = track_.say(sentence);
  note_sound(*utterance, utterance->num_samples);
  changed_.notify_all();
}

void ThreadedSpeaker::give_way(bool urgent) {
  const Lock lock(mutex_);
  gives_way_ = urgent;
  changed_.notify_all();
}

SpeechReport ThreadedSpeaker::finish_turn(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const Lock lock(mutex_);
    changed_.notify_all();
  });
  Lock lock(mutex_);
  gives_way_ = false;
  changed_.notify_all();
  cancel_prepared();
  changed_.wait(lock, stop_,
                [&]() REQUIRES(mutex_) { return queue_.empty() || stop.stop_requested(); });
  throw_if_stopped(stop_);  // the queue may be empty because the sink was stopped
  throw_if_stopped(stop);
  failed_ = false;
  track_.end_answer();
  sink_.expect_nothing();
  const int64_t num_underruns = sink_.num_underruns();
  report_.underruns = num_underruns - std::exchange(num_underruns_, num_underruns);
  if (report_.underruns > 0) {
    spdlog::warn(
        "the sound broke off {} times: predgen bench --tts tells whether the voice keeps up",
        report_.underruns);
  }
  return std::exchange(report_, {});
}

void ThreadedSpeaker::cancel_turn() {
  Lock lock(mutex_);
  gives_way_ = false;
  cancel_prepared();
  for (const std::shared_ptr<Utterance>& utterance : queue_) {
    utterance->cancelled = true;
    cancelled_.push_back(utterance);
  }
  queue_.clear();
  changed_.notify_all();
  sink_.give_up();
  changed_.wait(lock, [&]() REQUIRES(mutex_) { return !writes_; });
  sink_.clear();  // the playback thread has nothing to write now
  track_.cleared();
  track_.end_answer();
  num_underruns_ = sink_.num_underruns();
  failed_ = false;
  report_ = {};
}

std::optional<SpokenAnswer> ThreadedSpeaker::spoken() const {
  const Lock lock(mutex_);
  return track_.answer();
}

void ThreadedSpeaker::note_sound(const Utterance& utterance, int64_t num_samples) {
  if (!utterance.said || utterance.cancelled) return;
  track_.add_sound(utterance.place, num_samples);
  if (utterance.finished) track_.finish(utterance.place);
}

/// It stays prepared_: only the caller's thread changes that.
std::shared_ptr<ThreadedSpeaker::Utterance> ThreadedSpeaker::prepared(
    const std::string& sentence) const {
  const Lock lock(mutex_);
  return prepared_ && prepared_->text == sentence ? prepared_ : nullptr;
}

void ThreadedSpeaker::cancel_prepared() {
  if (!prepared_) return;
  prepared_->cancelled = true;
  std::erase(queue_, prepared_);
  cancelled_.push_back(std::exchange(prepared_, nullptr));
  changed_.notify_all();
}

void ThreadedSpeaker::report_failure(const char* what, const std::exception& error) {
  failed_ = true;
  if (!report_.error) report_.error = fmt::format("{} failed: {}", what, error.what());
}

bool ThreadedSpeaker::wants_step(const Utterance& utterance) const {
  if (utterance.finished || gives_way_) return false;
  return utterance.said ||
         !ahead_.is_full(utterance.num_steps, utterance.samples.size(), synthesizer_.sample_rate());
}

void ThreadedSpeaker::run_synthesis(const std::stop_token& end) {
  Lock lock(mutex_);
  while (true) {
    auto next = queue_.end();
    changed_.wait(lock, end, [&]() REQUIRES(mutex_) {
      next = std::ranges::find_if(
          queue_, [this](const auto& u) REQUIRES(mutex_) { return wants_step(*u); });
      return !cancelled_.empty() || next != queue_.end();
    });
    if (end.stop_requested()) return;
    if (!cancelled_.empty()) {
      std::vector<std::shared_ptr<Utterance>> cancelled = std::exchange(cancelled_, {});
      lock.unlock();
      cancelled.clear();
      lock.lock();
      continue;
    }
    const std::shared_ptr<Utterance> utterance = *next;
    if (failed_) {
      utterance->finished = true;
      note_sound(*utterance, 0);
    } else {
      if (utterance->num_steps++ == 0 && !utterance->said) ++report_.prepared;
      lock.unlock();
      advance(*utterance);
      lock.lock();
    }
    changed_.notify_all();
  }
}

void ThreadedSpeaker::advance(Utterance& utterance) {
  std::vector<float> samples;
  bool more = false;
  try {
    if (!utterance.synthesis) utterance.synthesis = synthesizer_.begin(utterance.spoken);
    more = utterance.synthesis->advance(samples);
    if (!more) utterance.synthesis.reset();
  } catch (const std::exception& error) {
    utterance.synthesis.reset();
    const Lock lock(mutex_);
    if (!utterance.cancelled) report_failure("speech synthesis", error);
  }
  const Lock lock(mutex_);
  utterance.finished = !more;
  if (!utterance.ready && !samples.empty()) utterance.ready = clock_.now();
  utterance.samples.insert(utterance.samples.end(), samples.begin(), samples.end());
  utterance.num_samples += std::ssize(samples);
  note_sound(utterance, std::ssize(samples));
}

void ThreadedSpeaker::run_playback(const std::stop_token& end) {
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, end, [&]() REQUIRES(mutex_) {
      if (queue_.empty() || !queue_.front()->said) return false;
      return queue_.front()->finished || !queue_.front()->samples.empty();
    });
    if (end.stop_requested()) return;
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
    writes_ = true;
    track_.will_write(std::ssize(samples));
    lock.unlock();
    try {
      sink_.write(samples);
      lock.lock();
    } catch (const Interrupted&) {  // which finish_turn() reports
      lock.lock();
      failed_ = true;
    } catch (const std::exception& error) {
      lock.lock();
      track_.cleared();  // nothing of it was taken
      report_failure("audio output", error);
    }
    writes_ = false;
    changed_.notify_all();
  }
}

}  // namespace predgen
