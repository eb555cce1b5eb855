#include "voice/zonos/zonos_voice.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "core/error.h"
#include "voice/audio_file.h"
#include "voice/dac/dac_encoder.h"
#include "voice/speaker/load_speaker.h"
#include "voice/zonos/zonos_synthesizer.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTriedSteps = 26;     // on a GPU: to the first sound
constexpr int64_t kSampleRate = 44100;  // Hz
constexpr int64_t kCodes = 1024;        // of a codebook
constexpr int64_t kFrameSamples = 512;  // samples of a frame
constexpr int64_t kMaxPrefixSeconds = 30;

bool wants(const ZonosOptions& options, const char* name) {
  return std::ranges::find(options.unconditional, name) == options.unconditional.end();
}

ZonosConditioning make_conditioning(const ZonosOptions& options, const ZonosConfig& config) {
  ZonosConditioning conditioning;
  const auto has = [&](const char* name) {
    return std::ranges::any_of(config.conditioners, [&](const auto& c) { return c.name == name; });
  };
  const auto number = [&](const char* name, double value) {
    return wants(options, name) && has(name) ? std::optional(static_cast<float>(value))
                                             : std::nullopt;
  };
  if (wants(options, "emotion") && has("emotion")) {
    conditioning.emotion.emplace();
    std::ranges::copy(options.emotion, conditioning.emotion->begin());
  }
  conditioning.fmax = number("fmax", options.fmax);
  conditioning.pitch_std = number("pitch_std", options.pitch_std);
  conditioning.speaking_rate = number("speaking_rate", options.speaking_rate);
  conditioning.language_id = language_id(options.language);
  if (!options.voice.empty()) {
    const fs::path models =
        options.speaker_model.empty() ? options.model / "speaker-embedding" : options.speaker_model;
    conditioning.speaker = load_speaker(options.voice, models);
  }
  return conditioning;
}

at::Tensor audio_prefix_codes(const fs::path& file, const DacWeights& weights) {
  const Waveform sound = read_audio_file(file);
  if (sound.samples_CN.size(1) > kMaxPrefixSeconds * sound.sample_rate) {
    throw UserError("{}: is longer than {} seconds: one or two are enough to go on from",
                    sound.name, kMaxPrefixSeconds);
  }
  return DacEncoder(weights).encode(sound);
}

}  // namespace

ZonosVoice::ZonosVoice(const ZonosOptions& options)
    : options_(options), names_{options.voice.empty() ? "zonos" : options.voice.stem().string()} {
  const c10::InferenceMode inference;
  options_.generation.validate();
  // Small files first, so that a wrong word is reported before gigabytes are loaded.
  const ZonosConfig config = ZonosConfig::load(options_.model);
  const fs::path codec = options_.codec_folder();
  check_codec(codec);
  Phonemizer({.helper = options_.espeak_helper}).phoneme_ids("a", options_.language);
  conditioning_ = make_conditioning(options_, config);
  model_ = ZonosModel::load(options_.model, options_.load);
  const DacWeights weights(codec, model_->device());
  decoder_ = std::make_unique<const DacDecoder>(weights);
  if (!options_.audio_prefix.empty()) {
    audio_prefix_KP_ = audio_prefix_codes(options_.audio_prefix, weights);
  }
  try_out();
}

void ZonosVoice::check_codec(const fs::path& folder) {
  if (!fs::exists(folder / "config.json")) {
    throw UserError("{}: no such file: the voice needs the folder of descript/dac_44khz there",
                    (folder / "config.json").string());
  }
  const DacConfig config = DacConfig::load(folder);
  if (config.num_codebooks != kZonosCodebooks || config.codebook_size != kCodes ||
      config.sample_rate != kSampleRate || config.hop() != kFrameSamples) {
    throw UserError(
        "{}: the codec has {} codebooks of {} codes, {} Hz and {} samples a frame, but Zonos "
        "speaks with {} of {}, {} Hz and {}: use descript/dac_44khz",
        folder.string(), config.num_codebooks, config.codebook_size, config.sample_rate,
        config.hop(), kZonosCodebooks, kCodes, kSampleRate, kFrameSamples);
  }
}

/// Finds values that the model rejects and weights that give non-finite values now, not in the
/// first turn; on a GPU it also lets libraries choose kernels.
void ZonosVoice::try_out() const {
  ZonosSynthesizer first(*this);
  const auto speech = first.begin("Ready.");
  std::vector<float> unheard;
  const int64_t num_steps = model_->device().is_cuda() ? kTriedSteps : 0;
  for (int64_t i = 0; i <= num_steps && speech->advance(unheard); ++i) {
  }
  const at::Tensor sound = decoder_->decode(at::zeros({kZonosCodebooks, 1}, at::kLong));
  if (!at::isfinite(sound).all().item<bool>()) {
    throw UserError("{}: the codec gives samples that are not numbers: download it again",
                    options_.codec_folder().string());
  }
}

std::unique_ptr<SpeechSynthesizer> ZonosVoice::synthesizer(const std::string& name,
                                                           double /*speed*/) const {
  if (!name.empty() && name != names_.front()) throw unknown_voice(name, names_);
  return std::make_unique<ZonosSynthesizer>(*this);
}

}  // namespace predgen
