#include "voice/espeak/espeak_voice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"

namespace predgen {

Settings settings_of(EspeakOptions& options) {
  return {
      {"voice", options.voice,
       "`espeak-ng --voices` lists them; +f3, say, changes the speaker: en-us+f3"},
      {"words_per_minute", options.words_per_minute, between(kSlowestEspeak, kFastestEspeak), ""},
      {"pitch", options.pitch, between(0, 100), ""}};
}

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

namespace {

std::vector<std::string> read_names(const EspeakOptions& options) {
  EspeakHelper helper(options.helper, options.timeout, "the espeak voice");
  std::vector<std::string> names;
  if (helper.request({{"list", "voices"}})) {
    while (const auto frame = helper.receive()) {
      if (frame->type == EspeakFrame::Type::kDone) return names;
      names =
          parse_json(frame->payload, "the espeak helper's answer").get<std::vector<std::string>>();
    }
  }
  throw UserError("the espeak helper ended at once; run it by hand to see why, or use --tts none");
}

}  // namespace

EspeakVoice::EspeakVoice(const EspeakOptions& options)
    : options_(options), names_(read_names(options)) {
  sample_rate_ = synthesizer(options_.voice)->sample_rate();
  std::erase(names_, options_.voice);
  names_.insert(names_.begin(), options_.voice);
}

std::string EspeakVoice::language(const std::string& name) const {
  return name.empty() ? options_.voice : name;
}

SpeedRange EspeakVoice::speeds() const {
  const auto configured = static_cast<double>(options_.words_per_minute);
  return {static_cast<double>(kSlowestEspeak) / configured,
          static_cast<double>(kFastestEspeak) / configured};
}

std::unique_ptr<SpeechSynthesizer> EspeakVoice::synthesizer(const std::string& name,
                                                            double speed) const {
  EspeakOptions options = options_;
  options.words_per_minute =
      std::clamp(std::llround(static_cast<double>(options.words_per_minute) * speed),
                 static_cast<long long>(kSlowestEspeak), static_cast<long long>(kFastestEspeak));
  if (!name.empty()) options.voice = name;
  try {
    return std::make_unique<EspeakSynthesizer>(options);
  } catch (const UnknownEspeakVoice&) {
    throw unknown_voice(options.voice, names_);
  }
}

}  // namespace predgen
