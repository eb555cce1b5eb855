#include "voice/clauses/clause_synthesizer.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "text/utf8.h"
#include "voice/clauses/spoken_pieces.h"

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

class ClauseSynthesizer::Sentence : public Synthesis {
 public:
  Sentence(ClauseSynthesizer& voice, std::string text)
      : voice_(voice), text_(std::move(text)), edges_(voice.sample_rate()) {}

  bool advance(std::vector<float>& samples) override {
    if (!std::exchange(is_read_, true)) {
      read();
      return !pieces_.empty();
    }
    if (!sound_ && !pieces_.empty()) start_piece();
    if (sound_) continue_piece(samples);
    return sound_ || !pieces_.empty();
  }

 private:
  void read() {
    const auto pieces = spoken_pieces(
        text_, voice_.network_->longest_piece(), [this](const std::vector<std::string>& clauses) {
          return voice_.espeak_.pronounce(clauses, voice_.options_.language);
        });
    pieces_.assign(pieces.begin(), pieces.end());
    if (pieces_.empty() && !is_blank(text_)) warn();
  }

  void start_piece() {
    sound_ = voice_.network_->speak(pieces_.front().phonemes);
    if (sound_) return;
    pieces_.pop_front();
    warn();
  }

  void continue_piece(std::vector<float>& samples) {
    std::vector<float> sound;
    const bool more = sound_->advance(sound);
    edges_.push(sound, samples);
    if (more) return;
    edges_.end(pause_behind(pieces_.front().mark), samples);
    sound_.reset();
    pieces_.pop_front();
  }

  void warn() const {
    // Without the text: it is what somebody said or was told.
    spdlog::warn("{} has no sounds for a part of a sentence in the language {}: it is left out",
                 voice_.options_.user, voice_.options_.language);
  }

  ClauseSynthesizer& voice_;
  std::string text_;
  bool is_read_ = false;
  std::deque<SpokenPiece> pieces_;    // still to be said, including the current one
  std::unique_ptr<Synthesis> sound_;  // of the first piece; null: not begun
  QuietEdges edges_;
};

ClauseSynthesizer::ClauseSynthesizer(std::shared_ptr<const PhonemeNetwork> network,
                                     const ClauseOptions& options)
    : network_(std::move(network)),
      options_(options),
      espeak_(options_.espeak_helper, options_.timeout, options_.user) {
  espeak_.pronounce({"a"}, options_.language);
}

std::unique_ptr<Synthesis> ClauseSynthesizer::begin(const std::string& spoken) {
  return std::make_unique<Sentence>(*this, replace_ill_formed_utf8(spoken));
}

void try_out(SpeechSynthesizer& voice, const std::string& word, const std::string& advice) {
  std::vector<float> unheard;
  const auto speech = voice.begin(word);
  while (speech->advance(unheard)) {
  }
  const bool is_sound = std::ranges::all_of(unheard, [](float x) { return std::isfinite(x); });
  if (unheard.empty() || !is_sound) throw UserError("the voice gives no sound: {}", advice);
}

}  // namespace predgen
