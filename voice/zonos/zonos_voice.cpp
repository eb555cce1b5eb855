#include "voice/zonos/zonos_voice.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/stop.h"
#include "voice/dac/dac_codec.h"
#include "voice/speaker/load_speaker.h"
#include "voice/waveform.h"
#include "voice/zonos/zonos_synthesizer.h"

namespace predgen {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kPhonemes = 60, kFirstPhoneme = 28;
constexpr int kWarmUp = 3, kSteps = 15;
constexpr int64_t kPiece = 8, kPieces = 6;  // frames, as a sentence is decoded
constexpr int kClips = 3;                   // the first to warm up

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double seconds_per_step(const ZonosModel& model, const CodeGenerationConfig& config,
                        const std::stop_token& stop) {
  ZonosConditioning conditioning;
  for (int64_t i = 0; i < kPhonemes; ++i) conditioning.phoneme_ids.push_back(kFirstPhoneme + i);
  const at::Tensor prefix = model.make_prefix(conditioning);
  std::vector<double> seconds;
  const std::unique_ptr<GraphedStep> graphs = GraphedStep::make(model);
  std::optional<CodeGeneration> generation;
  for (int i = 0; i < kWarmUp + kSteps; ++i) {
    throw_if_stopped(stop);
    if (!generation || generation->is_complete()) {
      generation.emplace(model, prefix, config, at::Tensor(), graphs.get());
    }
    const auto start = SteadyClock::now();
    generation->step();
    if (i >= kWarmUp) seconds.push_back(seconds_since(start));
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

double codec_seconds(const DacDecoder& decoder, const std::stop_token& stop) {
  const DacConfig& config = decoder.config();
  const at::Tensor codes_KN = at::arange(config.num_codebooks * kPiece)
                                  .view({config.num_codebooks, kPiece})
                                  .remainder(config.codebook_size);
  double best = std::numeric_limits<double>::infinity();
  for (int clip = 0; clip < kClips; ++clip) {
    DacStream stream(decoder);
    const auto start = SteadyClock::now();
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      throw_if_stopped(stop);
      stream.push(codes_KN);
    }
    stream.flush();
    if (clip > 0) best = std::min(best, seconds_since(start));
  }
  return best;
}

}  // namespace

ZonosSpeed measure_zonos(const ZonosModel& model, const DacDecoder& decoder,
                         const CodeGenerationConfig& config, const std::stop_token& stop) {
  const DacConfig& codec = decoder.config();
  ZonosSpeed speed;
  speed.steps_per_second =
      static_cast<double>(codec.sample_rate) / static_cast<double>(codec.hop());
  speed.seconds_per_step = seconds_per_step(model, config, stop);
  speed.codec_real_time_factor =
      codec_seconds(decoder, stop) * speed.steps_per_second / static_cast<double>(kPiece * kPieces);
  return speed;
}

namespace {

std::string emotion_problem(const std::vector<double>& weights) {
  if (weights.size() != 8) return "give eight weights";
  const bool is_good = std::ranges::min(weights) >= 0 && std::ranges::max(weights) > 0;
  return is_good ? "" : "no weight may be below 0, and one must be above";
}

std::string unconditional_problem(const std::vector<std::string>& names) {
  constexpr std::array kNames{"emotion", "fmax", "pitch_std", "speaking_rate"};
  for (const std::string& name : names) {
    if (std::ranges::find(kNames, name) != kNames.end()) continue;
    return fmt::format("'{}' is none of {}", name, fmt::join(kNames, ", "));
  }
  return "";
}

Settings sampling_settings(CodeSamplingConfig& sampling) {
  const auto needs_linear = [&sampling](const double& value) {
    return [&sampling, &value]() -> std::string {
      return value != 0 && sampling.linear == 0 ? "needs linear above 0" : "";
    };
  };
  return {{"min_p", sampling.min_p, between(0, 1),
           "keeps codes at least this likely beside the likeliest"},
          {"temperature", sampling.temperature, at_least(0), "0: always the most likely code"},
          Setting("repetition_penalty", sampling.repetition_penalty, "above 0; 1: none")
              .must([&sampling] { return sampling.repetition_penalty > 0; },
                    "must be above 0 (1: none)"),
          {"repetition_window", sampling.repetition_window, at_least(0),
           "last columns that the penalty sees"},
          {"top_p", sampling.top_p, between(0, 1), "0: off"},
          {"top_k", sampling.top_k, at_least(0), "0: off"},
          {"linear", sampling.linear, at_least(0),
           "above 0: the \"unified\" sampler, with the two below; then min_p: 0"},
          Setting("confidence", sampling.confidence, "of the unified sampler")
              .checked(needs_linear(sampling.confidence)),
          Setting("quadratic", sampling.quadratic, "of the unified sampler")
              .checked(needs_linear(sampling.quadratic)),
          {"eos_penalty", sampling.eos_penalty, at_least(0), "0.69 makes clipped endings rarer"},
          {"seed", sampling.seed, "of the draws"}};
}

}  // namespace

Settings settings_of(ZonosOptions& options) {
  const std::vector<std::pair<std::string, bool>> aheads{{"exact", false}, {"edge", true}};
  const std::vector<std::pair<std::string, Quantization>> quantizations{
      {"none", Quantization::kNone}, {"int8", Quantization::kInt8}};
  const Settings voice{
      Setting("model", options.model, "folder of Zyphra/Zonos-v0.1-transformer").needed(),
      {"codec", options.codec, "folder of descript/dac_44khz; empty: dac_44khz in the model's"},
      {"speaker_model", options.speaker_model,
       "for a voice from a recording, as converted; empty: speaker-embedding in the model's"},
      {"voice", options.voice,
       "a recording of 10 to 30 s, or a speaker embedding (.safetensors); empty: the model's "
       "choice"},
      {"audio_prefix", options.audio_prefix,
       "sound that every sentence continues from, up to 30 s; empty: none"},
      {"language", options.language, "as espeak-ng names it"},
      {"english_numbers", options.english_numbers,
       "digits become English words in every language, as in training"},
      Setting("emotion", options.emotion,
              "weights of happiness, sadness, disgust, fear, surprise, anger, other, neutral")
          .checked([&options] { return emotion_problem(options.emotion); }),
      {"fmax", options.fmax, between(0, 24000), "Hz"},
      {"pitch_std", options.pitch_std, between(0, 400), "20 to 45 normal, 60 to 150 expressive"},
      {"speaking_rate", options.speaking_rate, between(0, 40), "phonemes a second"},
      Setting("unconditional", options.unconditional,
              "of emotion, fmax, pitch_std and speaking_rate: what the model decides itself")
          .checked([&options] { return unconditional_problem(options.unconditional); }),
      {"cfg_scale", options.generation.cfg_scale, at_least(0), "guidance; 1 takes half the work"}};
  const Settings machine{
      {"max_new_frames", options.generation.max_new_frames, at_least(1),
       "of a sentence: 2580 are 30 s"},
      {"ahead_steps", options.ahead_steps, between(1, 100'000),
       "synthesised before a sentence is said; 34 are 194 ms of exact samples"},
      {"ahead", options.edge, aheads,
       "edge, with ahead_steps 17 or 25, is the paper's buffer of 17 chunks: sooner, with an "
       "approximate seam"},
      {"device", options.load.device, "auto, cpu, cuda or cuda:N"},
      {"dtype", options.load.dtype, "auto, fp32 or bf16"},
      {"quantize", options.load.quantization, quantizations, "int8 halves the memory"}};
  return together({voice, sampling_settings(options.generation.sampling), machine});
}

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
