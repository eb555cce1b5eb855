#include "hear/ears_recogniser.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "core/text.h"

namespace predgen {
namespace {

/// The segment, as if the user had paused; one that is over stays over, and is not told twice. A
/// voice that had already paused has no more words to come.
RecognisedSegment ended(RecognisedSegment segment) {
  if (segment.voice) {
    segment.voice->is_in_words = segment.voice->is_in_words || !segment.voice->is_active;
    segment.voice->heard.reset();
  }
  if (segment.is_over) {
    segment.text.clear();
    ++segment.number;
  }
  segment.is_over = true;
  return segment;
}

}  // namespace

EarsRecogniser::EarsRecogniser(std::shared_ptr<EarsProcess> process, RecogniserHandler& handler)
    : process_(std::move(process)), handler_(handler) {
  process_->add(*this);
}

EarsRecogniser::~EarsRecogniser() { process_->remove(*this); }

bool EarsRecogniser::add(int64_t utterance, std::vector<float> samples) {
  if (samples.empty()) return true;
  const Lock lock(mutex_);
  Utterance& to = utterances_[utterance];
  if (!to.stream) {
    to.stream = process_->open(*this);
    to.first_sample = to.num_samples;
  }
  to.num_samples += std::ssize(samples);
  return process_->send(*to.stream, samples);
}

void EarsRecogniser::finish(int64_t utterance) {
  const Lock lock(mutex_);
  Utterance& to = utterances_[utterance];
  to.is_finished = true;
  if (!to.stream) to.stream = process_->open(*this);
  process_->finish(*to.stream);
}

void EarsRecogniser::drop(int64_t utterance) {
  const Lock lock(mutex_);
  const auto found = utterances_.find(utterance);
  if (found == utterances_.end()) return;
  if (found->second.stream) process_->drop(*found->second.stream);
  utterances_.erase(found);
}

EarsRecogniser::Utterance* EarsRecogniser::find(uint32_t stream) {
  const auto found = std::ranges::find_if(
      utterances_, [&](const auto& entry) { return entry.second.stream == stream; });
  return found == utterances_.end() ? nullptr : &found->second;
}

void EarsRecogniser::on_heard(uint32_t stream, const RecognisedSegment& segment) {
  {
    const Lock lock(mutex_);
    Utterance* const of = find(stream);
    if (of == nullptr) return;
    RecognisedSegment heard = segment;
    heard.number += of->first_segment;
    if (heard.voice) {
      heard.voice->since += of->first_sample;
      heard.voice->until += of->first_sample;
      if (heard.voice->heard) *heard.voice->heard += of->first_sample;
    }
    of->has_words = of->has_words || !heard.text.empty();
    of->last = heard;
    of->untold.push_back(std::move(heard));
  }
  tell();
}

void EarsRecogniser::on_done(uint32_t stream) {
  {
    const Lock lock(mutex_);
    if (Utterance* const of = find(stream)) of->is_done = true;
  }
  tell();
}

void EarsRecogniser::forget_all(uint32_t lost) {
  for (const auto& [utterance, of] : utterances_) {
    if (of.stream && *of.stream > lost) process_->drop(*of.stream);
  }
  utterances_.clear();
}

void EarsRecogniser::on_lost(const std::string& why, bool is_starting, uint32_t last) {
  const auto is_lost = [last](const Utterance& of) {
    return !of.is_done && of.stream && *of.stream <= last;
  };
  bool is_failure = false;
  {
    const Lock lock(mutex_);
    is_failure = std::ranges::any_of(utterances_, [&](const auto& entry) {
      const Utterance& of = entry.second;
      return is_starting ? is_lost(of) && of.is_finished && !of.has_words : !of.is_done;
    });
    if (is_failure) forget_all(last);
    for (auto& [utterance, of] : utterances_) {
      if (!is_lost(of)) continue;
      of.was_active = of.last.voice && of.last.voice->is_active;
      of.last = ended(of.last);
      of.untold.push_back(of.last);
      of.first_segment = of.last.number + 1;
      of.stream.reset();
      of.is_done = of.is_finished;
    }
  }
  if (is_failure) return fail(why);
  tell();
}

void EarsRecogniser::on_started() {
  {
    const Lock lock(mutex_);
    for (auto& [utterance, of] : utterances_) {
      if (!std::exchange(of.was_active, false)) continue;
      // If the voice goes on, the next segment says so.
      HeardVoice voice = *of.last.voice;
      voice.is_active = false;
      voice.until = of.num_samples;
      voice.is_in_words = true;
      of.last = {.number = of.first_segment, .voice = voice};
      of.untold.push_back(of.last);
    }
  }
  tell();
}

void EarsRecogniser::tell() {
  try {
    tell_untold();
  } catch (const std::exception& error) {
    {
      const Lock lock(mutex_);
      forget_all(/*lost=*/0);
    }
    fail(fmt::format("was heard, but not understood: {}", first_line(error.what())));
  }
}

void EarsRecogniser::fail(const std::string& why) {
  try {
    handler_.on_failure(why);
  } catch (const std::exception& error) {
    spdlog::error("a conversation cannot be told that its recogniser {}: {}", why,
                  first_line(error.what()));
  }
}

void EarsRecogniser::tell_untold() {
  while (true) {
    int64_t utterance = 0;
    std::optional<RecognisedSegment> segment;
    {
      const Lock lock(mutex_);
      const auto first = utterances_.begin();
      if (first == utterances_.end()) return;
      utterance = first->first;
      std::deque<RecognisedSegment>& untold = first->second.untold;
      if (untold.empty() && !first->second.is_done) return;
      if (untold.empty()) {
        utterances_.erase(first);
      } else {
        segment = std::move(untold.front());
        untold.pop_front();
      }
    }
    if (segment) {
      handler_.on_segment(utterance, *segment);
    } else {
      handler_.on_end(utterance);
    }
  }
}

}  // namespace predgen
