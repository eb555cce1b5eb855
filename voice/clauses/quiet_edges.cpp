#include "voice/clauses/quiet_edges.h"

#include <algorithm>
#include <cmath>

#include "voice/clauses/split_clauses.h"

namespace predgen {
namespace {

constexpr float kQuiet = 1e-3F;  // -60 dB: below the breath before a soft consonant
constexpr Seconds kLead{0.03};

}  // namespace

QuietEdges::QuietEdges(int sample_rate)
    : sample_rate_(sample_rate), lead_(static_cast<size_t>(kLead.count() * sample_rate)) {}

void QuietEdges::push(std::span<const float> sound, std::vector<float>& samples) {
  for (const float sample : sound) {
    if (std::abs(sample) > kQuiet) {
      const size_t skipped = has_sound_ ? 0 : held_.size() - std::min(held_.size(), lead_);
      samples.insert(samples.end(), held_.begin() + static_cast<std::ptrdiff_t>(skipped),
                     held_.end());
      held_.clear();
      samples.push_back(sample);
      has_sound_ = true;
    } else {
      held_.push_back(sample);
    }
  }
}

void QuietEdges::end(Seconds pause, std::vector<float>& samples) {
  if (has_sound_) {
    held_.resize(static_cast<size_t>(pause.count() * sample_rate_));
    samples.insert(samples.end(), held_.begin(), held_.end());
  }
  held_.clear();
  has_sound_ = false;
}

Seconds pause_behind(std::string_view mark) {
  if (mark.empty()) return Seconds(0.05);
  if (ends_sentence(mark)) return Seconds(0.4);
  return mark == ";" || mark == ":" ? Seconds(0.3) : Seconds(0.2);
}

}  // namespace predgen
