#include "voice/espeak/espeak_synthesizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"

namespace predgen {
namespace {

std::vector<float> to_float(std::string_view pcm16) {
  std::vector<float> samples(pcm16.size() / sizeof(int16_t));
  for (size_t i = 0; i < samples.size(); ++i) {
    int16_t value = 0;
    std::memcpy(&value, pcm16.data() + i * sizeof value, sizeof value);
    samples[i] = static_cast<float>(value) / 32768.0f;
  }
  return samples;
}

EspeakOptions checked(const EspeakOptions& options) {
  if (options.words_per_minute < kSlowestEspeak || options.words_per_minute > kFastestEspeak) {
    throw UserError("espeak speaks {} to {} words a minute, not {}", kSlowestEspeak, kFastestEspeak,
                    options.words_per_minute);
  }
  if (options.pitch < 0 || options.pitch > 100) {
    throw UserError("espeak's pitch is 0 to 100, not {}", options.pitch);
  }
  return options;
}

}  // namespace

class EspeakSynthesizer::Sentence : public Synthesis {
 public:
  Sentence(EspeakSynthesizer& voice, std::string text)
      : voice_(&voice), text_(std::move(text)), done_(text_.empty()) {}

  ~Sentence() override {
    if (voice_->speaking_ == this) voice_->speaking_ = nullptr;
  }

  bool advance(std::vector<float>& samples) override {
    while (pieces_.empty() && !done_) receive();
    if (pieces_.empty() && failure_) std::rethrow_exception(failure_);
    if (!pieces_.empty()) {
      samples.insert(samples.end(), pieces_.front().begin(), pieces_.front().end());
      pieces_.pop_front();
    }
    return !(done_ && pieces_.empty()) || failure_;
  }

 private:
  /// Receives one frame, after a request if needed.
  void receive() {
    try {
      if (voice_->speaking_ != this) ask();
      if (voice_->speaking_ == this) take(voice_->helper_.receive());
    } catch (...) {
      voice_->speaking_ = nullptr;
      failure_ = std::current_exception();
      done_ = true;
    }
  }

  void ask() {
    while (Sentence* const other = voice_->speaking_) other->receive();
    if (attempts_ == 2) {
      throw Error("the espeak helper ends on a sentence of {} bytes",
                  text_.size());  // not its text
    }
    ++attempts_;
    skip_ = received_;
    if (voice_->request(text_)) {
      voice_->speaking_ = this;
    } else {
      helper_ended();
    }
  }

  void take(const std::optional<EspeakFrame>& frame) {
    if (!frame) return helper_ended();
    if (frame->type == EspeakFrame::Type::kDone) {
      voice_->speaking_ = nullptr;
      done_ = true;
      return;
    }
    std::vector<float> piece = to_float(frame->payload);
    const size_t known = std::min(skip_, piece.size());
    skip_ -= known;
    piece.erase(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(known));
    received_ += piece.size();
    if (!piece.empty()) pieces_.push_back(std::move(piece));
  }

  void helper_ended() {
    voice_->speaking_ = nullptr;
    if (attempts_ == 1) spdlog::warn("the espeak helper ended; starting it again");
  }

  EspeakSynthesizer* voice_;
  std::string text_;
  std::deque<std::vector<float>> pieces_;  // received, not yet handed out
  size_t received_ = 0;                    // samples, all of pieces_ included
  size_t skip_ = 0;                        // samples to come that were received before
  int attempts_ = 0;
  bool done_;  // nothing will be received
  std::exception_ptr failure_;
};

EspeakSynthesizer::EspeakSynthesizer(const EspeakOptions& options)
    : options_(checked(options)), helper_(options_.helper, options_.timeout, "the espeak voice") {
  helper_.start();
  if (!request("") || !helper_.receive()) {  // no text: only checks the voice
    throw UserError(
        "the espeak helper ended at once; run it by hand to see why, or use --tts none");
  }
}

bool EspeakSynthesizer::request(const std::string& text) {
  return helper_.request({{"text", text},
                          {"voice", options_.voice},
                          {"rate", options_.words_per_minute},
                          {"pitch", options_.pitch}});
}

std::unique_ptr<Synthesis> EspeakSynthesizer::begin(const std::string& spoken) {
  return std::make_unique<Sentence>(*this, spoken);
}

}  // namespace predgen
