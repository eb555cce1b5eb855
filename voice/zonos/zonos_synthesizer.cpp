#include "voice/zonos/zonos_synthesizer.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "model/stream_priority.h"
#include "voice/audio_file.h"
#include "voice/dac/dac_encoder.h"
#include "voice/zonos/speech_parts.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

// The codec runs after 26 steps (101 ms of sound) and then every 8: often enough for a player,
// seldom enough to cost little.
constexpr int64_t kFirstDecode = 26, kDecodeEvery = 8;
// A fresh clip can start with a pop and end with a click.
constexpr double kFadeInSeconds = 0.005, kFadeOutSeconds = 0.015;
// Frames that a phoneme takes at most: three times slower than the model's usual 15 a second.
constexpr double kMaxFramesPerPhoneme = 17.0;
// Text and audio of a sentence of about 8 s: beyond, a graph is captured when it is needed.
constexpr int64_t kPreparedPositions = 1024;
constexpr int64_t kMinFrameLimit = 172;  // 2 s
constexpr int64_t kSampleRate = 44100;   // Hz
constexpr int64_t kCodes = 1024;         // of a codebook
constexpr int64_t kHop = 512;            // samples of a frame
constexpr int64_t kFirstSound = 28;      // of the symbols
constexpr int64_t kMaxPrefixSeconds = 30;
constexpr int64_t kMaxQuoted = 40;  // characters of a text in a message

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
    conditioning.speaker = load_voice(options.voice, models);
  }
  return conditioning;
}

/// Short enough for a line.
std::string quoted(const std::string& text) {
  const std::vector<std::string> pieces = speech_parts(text, kMaxQuoted);
  return fmt::format("\"{}{}\"", pieces.front(), pieces.size() > 1 ? " ..." : "");
}

/// Half a cosine, from 0 at `position` 0 to 1 at `length`.
float fade(int64_t position, int64_t length) {
  const double x = std::min(1.0, static_cast<double>(position) / static_cast<double>(length));
  return static_cast<float>(0.5 - 0.5 * std::cos(std::numbers::pi * x));
}

}  // namespace

ZonosSynthesizer::ZonosSynthesizer(const ZonosOptions& options)
    : options_(options),
      phonemizer_({.helper = options.espeak_helper, .english_numbers = options.english_numbers}) {
  const c10::InferenceMode inference;
  options_.generation.validate();
  // What is small first: nobody waits for gigabytes to hear of a wrong word.
  const ZonosConfig config = ZonosConfig::load(options.model);
  const fs::path codec = options.codec_folder();
  check_codec(codec);
  phonemizer_.phoneme_ids("a", options.language);
  conditioning_ = make_conditioning(options_, config);
  model_ = ZonosModel::load(options.model, options.load);
  const DacWeights weights(codec, model_->device());
  decoder_ = std::make_unique<DacDecoder>(weights);
  if (!options.audio_prefix.empty()) {
    const at::Tensor codes = audio_prefix_codes(weights);
    audio_prefix_ = AudioPrefix{codes, codes.size(1) * kHop};
  }
  stream_ = make_stream(model_->device(), StreamPriority::kLow);
  try_out();
}

void ZonosSynthesizer::check_codec(const fs::path& folder) {
  if (!fs::exists(folder / "config.json")) {
    throw UserError("{}: no such file: the voice needs the folder of descript/dac_44khz there",
                    (folder / "config.json").string());
  }
  const DacConfig config = DacConfig::load(folder);
  if (config.num_codebooks != kZonosCodebooks || config.codebook_size != kCodes ||
      config.sample_rate != kSampleRate || config.hop() != kHop) {
    throw UserError(
        "{}: the codec has {} codebooks of {} codes, {} Hz and {} samples a frame, but Zonos "
        "speaks with {} of {}, {} Hz and {}: use descript/dac_44khz",
        folder.string(), config.num_codebooks, config.codebook_size, config.sample_rate,
        config.hop(), kZonosCodebooks, kCodes, kSampleRate, kHop);
  }
}

at::Tensor ZonosSynthesizer::audio_prefix_codes(const DacWeights& weights) const {
  const Waveform sound = read_wav(options_.audio_prefix);
  if (sound.samples_CN.size(1) > kMaxPrefixSeconds * sound.sample_rate) {
    throw UserError("{}: is longer than {} seconds: one or two are enough to go on from",
                    sound.name, kMaxPrefixSeconds);
  }
  return DacEncoder(weights).encode(sound);
}

/// Values that the model refuses and weights that give no numbers are found now, not in the first
/// turn; on a GPU graphs and kernels are chosen.
void ZonosSynthesizer::try_out() {
  model_->prepare(kPreparedPositions, options_.generation.cfg_scale);
  const auto speech = begin_utterance("Ready.");
  std::vector<float> unheard;
  const int64_t num_steps = model_->device().is_cuda() ? kFirstDecode : 0;
  for (int64_t i = 0; i <= num_steps && speech->advance(unheard); ++i) {
  }
  const at::Tensor sound = decoder_->decode(at::zeros({kZonosCodebooks, 1}, at::kLong));
  if (!at::isfinite(sound).all().item<bool>()) {
    throw UserError("{}: the codec gives samples that are not numbers: download it again",
                    options_.codec_folder().string());
  }
}

std::unique_ptr<Synthesis> ZonosSynthesizer::begin(const std::string& spoken) {
  return begin_utterance(spoken);
}

std::unique_ptr<ZonosSynthesis> ZonosSynthesizer::begin_utterance(const std::string& spoken) {
  return std::unique_ptr<ZonosSynthesis>(new ZonosSynthesis(*this, speech_parts(spoken)));
}

std::optional<CodeGeneration> ZonosSynthesizer::generate(const std::string& part) {
  ZonosConditioning conditioning = conditioning_;
  conditioning.phoneme_ids = phonemizer_.phoneme_ids(part, options_.language);
  // Behind the marks, the symbols are letters and sounds.
  if (std::ranges::none_of(conditioning.phoneme_ids,
                           [](int64_t id) { return id >= kFirstSound; })) {
    spdlog::warn("the Zonos voice has no sounds for {} in the language {}: it is left out",
                 quoted(part), options_.language);
    return {};
  }
  CodeGenerationConfig config = options_.generation;
  const auto by_text = static_cast<int64_t>(kMaxFramesPerPhoneme *
                                            static_cast<double>(conditioning.phoneme_ids.size()));
  config.max_new_frames = std::min(config.max_new_frames, kMinFrameLimit + by_text);
  return CodeGeneration(*model_, model_->make_prefix(conditioning), config,
                        audio_prefix_ ? audio_prefix_->codes_KP : at::Tensor());
}

ZonosSynthesis::ZonosSynthesis(ZonosSynthesizer& synthesizer, std::vector<std::string> parts)
    : synthesizer_(&synthesizer), parts_(parts.begin(), parts.end()) {}

std::unique_ptr<ZonosSynthesis> ZonosSynthesis::save() const {
  const c10::InferenceMode inference;
  const c10::StreamGuard stream(*synthesizer_->stream_);
  return std::unique_ptr<ZonosSynthesis>(new ZonosSynthesis(*this));
}

int64_t ZonosSynthesis::num_bytes() const { return generation_ ? generation_->num_bytes() : 0; }

bool ZonosSynthesis::advance(std::vector<float>& samples) {
  const c10::InferenceMode inference;
  const c10::StreamGuard stream(*synthesizer_->stream_);
  if (!generation_ && parts_.empty()) return false;
  ++num_steps_;
  if (generation_) {
    generation_->step();
  } else if (!start_part()) {
    return !parts_.empty();
  }
  ++part_steps_;
  if (decodes_now()) decode(samples);
  if (generation_->is_complete()) generation_.reset();
  return generation_ || !parts_.empty();
}

bool ZonosSynthesis::start_part() {
  const std::string part = std::move(parts_.front());
  parts_.pop_front();
  generation_ = synthesizer_->generate(part);
  if (!generation_) return false;
  stream_.emplace(*synthesizer_->decoder_);
  part_steps_ = num_decoded_ = num_heard_ = 0;
  num_skipped_ = synthesizer_->audio_prefix_ ? synthesizer_->audio_prefix_->num_samples : 0;
  return true;
}

bool ZonosSynthesis::decodes_now() const {
  const ZonosOptions& options = synthesizer_->options_;
  if (generation_->is_complete() || num_steps_ == options.ahead_steps) return true;
  if (options.edge && num_steps_ < options.ahead_steps) return false;
  return part_steps_ >= kFirstDecode && (part_steps_ - kFirstDecode) % kDecodeEvery == 0;
}

void ZonosSynthesis::decode(std::vector<float>& samples) {
  const at::Tensor codes = generation_->codes(num_decoded_);
  num_decoded_ += codes.size(1);
  const bool to_edge = synthesizer_->options_.edge && !generation_->is_complete() &&
                       num_steps_ == synthesizer_->options_.ahead_steps;
  append(to_edge ? stream_->push_to_edge(codes) : stream_->push(codes), samples);
  if (!generation_->is_complete()) return;
  const size_t tail = samples.size();
  append(stream_->flush(), samples);
  const auto length = static_cast<int64_t>(kFadeOutSeconds * synthesizer_->sample_rate());
  for (size_t i = samples.size(), left = 0; i-- > tail && std::cmp_less(left, length); ++left) {
    samples[i] *= fade(static_cast<int64_t>(left), length);
  }
  if (!generation_->ended_by_eos()) {
    spdlog::warn("the Zonos voice did not come to an end and was cut after {:.1f} s",
                 static_cast<double>(num_heard_) / synthesizer_->sample_rate());
  }
}

void ZonosSynthesis::append(const at::Tensor& pcm, std::vector<float>& samples) {
  const int64_t skipped = std::min(num_skipped_, pcm.numel());
  num_skipped_ -= skipped;
  const auto length = static_cast<int64_t>(kFadeInSeconds * synthesizer_->sample_rate());
  const float* values = pcm.const_data_ptr<float>();
  for (int64_t i = skipped; i < pcm.numel(); ++i) {
    samples.push_back(values[i] * fade(num_heard_++, length));
  }
}

}  // namespace predgen
