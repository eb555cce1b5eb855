#include "runtime/speech/espeak_synthesizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "runtime/speech/speech_text.h"

namespace predgen {
namespace {

/// helpers/espeak/README.md has the protocol.
struct Frame {
  char type = 0;
  std::string payload;
};

/// False: the helper has ended.
bool receive_frame(HelperProcess& helper, Seconds timeout, Frame& frame) {
  constexpr uint32_t kMaxPayload = 1 << 24;
  char header[5];
  if (!helper.receive(header, timeout)) return false;
  uint32_t length = 0;
  std::memcpy(&length, header + 1, sizeof length);
  if (length > kMaxPayload) throw Error("the espeak helper sent a frame of {} bytes", length);
  frame.type = header[0];
  frame.payload.resize(length);
  return helper.receive(frame.payload, timeout);
}

std::vector<float> to_float(std::string_view pcm16) {
  std::vector<float> samples(pcm16.size() / sizeof(int16_t));
  for (size_t i = 0; i < samples.size(); ++i) {
    int16_t value = 0;
    std::memcpy(&value, pcm16.data() + i * sizeof value, sizeof value);
    samples[i] = static_cast<float>(value) / 32768.0f;
  }
  return samples;
}

std::filesystem::path helper_beside_this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-espeak";
}

}  // namespace

EspeakSynthesizer::EspeakSynthesizer(const EspeakOptions& options) : options_(options) {
  if (options_.words_per_minute < 80 || options_.words_per_minute > 450) {
    throw UserError("espeak speaks 80 to 450 words a minute, not {}", options_.words_per_minute);
  }
  if (options_.pitch < 0 || options_.pitch > 100) {
    throw UserError("espeak's pitch is 0 to 100, not {}", options_.pitch);
  }
  if (options_.helper.empty()) options_.helper = helper_beside_this_program();
  if (!std::filesystem::exists(options_.helper)) {
    throw UserError(
        "the espeak voice needs the program {}, which is missing: build with "
        "-DPREDGEN_ESPEAK=ON or use --tts none",
        options_.helper.string());
  }
  start();
  size_t delivered = 0;  // no text: only checks the voice
  if (request(
          "", [](auto) { return true; }, delivered) == Outcome::kHelperDied) {
    throw UserError("{} ended at once; run it by hand to see why, or use --tts none",
                    options_.helper.string());
  }
}

void EspeakSynthesizer::start() {
  helper_ = std::make_unique<HelperProcess>(options_.helper);
  Frame frame;
  if (!receive_frame(*helper_, options_.timeout, frame)) {
    throw UserError("{} ended at once; run it by hand to see why, or use --tts none",
                    options_.helper.string());
  }
  if (frame.type == 'E') throw UserError("espeak voice: {}", frame.payload);
  uint32_t rate = 0;
  if (frame.type != 'R' || frame.payload.size() != sizeof rate) {
    throw UserError("{} is not predgen's espeak helper", options_.helper.string());
  }
  std::memcpy(&rate, frame.payload.data(), sizeof rate);
  sample_rate_ = static_cast<int>(rate);
}

bool EspeakSynthesizer::synthesize(const std::string& sentence, const AudioCallback& on_audio) {
  const std::string text = speakable_text(sentence);
  if (text.empty()) return true;
  size_t delivered = 0;
  try {
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!helper_) start();
      const Outcome outcome = request(text, on_audio, delivered);
      if (outcome != Outcome::kHelperDied) return outcome == Outcome::kDone;
      spdlog::warn("the espeak helper ended while it spoke; starting it again");
      helper_.reset();
    }
  } catch (...) {
    helper_.reset();  // its remaining frames belong to nobody
    throw;
  }
  throw Error("the espeak helper ends on the sentence \"{}\"", text);
}

EspeakSynthesizer::Outcome EspeakSynthesizer::request(const std::string& text,
                                                      const AudioCallback& on_audio,
                                                      size_t& delivered) {
  const Json json{{"text", text},
                  {"voice", options_.voice},
                  {"rate", options_.words_per_minute},
                  {"pitch", options_.pitch}};
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!helper_->send(line, options_.timeout)) return Outcome::kHelperDied;
  size_t skip = delivered;
  bool wanted = true;
  for (Frame frame; receive_frame(*helper_, options_.timeout, frame);) {
    if (frame.type == 'D') return wanted ? Outcome::kDone : Outcome::kCancelled;
    if (frame.type == 'V') {
      throw UserError("{}; choose one that `espeak-ng --voices` lists", frame.payload);
    }
    if (frame.type != 'A') throw Error("espeak helper: {}", frame.payload);
    if (!wanted) continue;  // cancelled: the rest arrives within milliseconds
    const std::vector<float> samples = to_float(frame.payload);
    const std::span<const float> fresh = std::span(samples).subspan(std::min(skip, samples.size()));
    skip -= samples.size() - fresh.size();
    delivered += fresh.size();
    if (!fresh.empty()) wanted = on_audio(fresh);
  }
  return Outcome::kHelperDied;
}

}  // namespace predgen
