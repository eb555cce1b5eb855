#include "serve/wyoming/spoken_ahead.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "runtime/speech/speak_sentence.h"

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

}  // namespace predgen::serve
