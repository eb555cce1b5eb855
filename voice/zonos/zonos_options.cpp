#include "voice/zonos/zonos_options.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace predgen {

ZonosOptions read_zonos_options(ConfigReader& reader) {
  ZonosOptions options;
  reader.required("model", options.model);
  reader.optional("codec", options.codec);
  reader.optional("speaker_model", options.speaker_model);
  reader.optional("voice", options.voice);
  reader.optional("audio_prefix", options.audio_prefix);
  reader.optional("language", options.language);
  reader.optional("english_numbers", options.english_numbers);
  reader.optional("emotion", options.emotion);
  reader.optional("fmax", options.fmax, 0.0, 24000.0);
  reader.optional("pitch_std", options.pitch_std, 0.0, 400.0);
  reader.optional("speaking_rate", options.speaking_rate, 0.0, 40.0);
  reader.optional("unconditional", options.unconditional);
  if (options.emotion.size() != 8) {
    reader.problem("emotion", "give eight weights");
  } else if (std::ranges::min(options.emotion) < 0 || std::ranges::max(options.emotion) == 0) {
    reader.problem("emotion", "no weight may be below 0, and one must be above");
  }
  for (const std::string& name : options.unconditional) {
    constexpr std::array kNames{"emotion", "fmax", "pitch_std", "speaking_rate"};
    if (std::ranges::find(kNames, name) == kNames.end()) {
      reader.problem("unconditional",
                     fmt::format("'{}' is none of {}", name, fmt::join(kNames, ", ")));
    }
  }

  CodeSamplingConfig& sampling = options.generation.sampling;
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr int64_t kMostWhole = std::numeric_limits<int64_t>::max();
  reader.optional("cfg_scale", options.generation.cfg_scale, 0.0, kMost);
  reader.optional("max_new_frames", options.generation.max_new_frames, int64_t{1}, kMostWhole);
  reader.optional("temperature", sampling.temperature, 0.0, kMost);
  reader.optional("repetition_penalty", sampling.repetition_penalty);
  if (!(sampling.repetition_penalty > 0)) {
    reader.problem("repetition_penalty", "must be above 0 (1: none)");
  }
  reader.optional("repetition_window", sampling.repetition_window, int64_t{0}, kMostWhole);
  reader.optional("linear", sampling.linear, 0.0, kMost);
  reader.optional("confidence", sampling.confidence);
  reader.optional("quadratic", sampling.quadratic);
  for (const auto& [key, value] :
       {std::pair("confidence", sampling.confidence), std::pair("quadratic", sampling.quadratic)}) {
    if (value != 0 && sampling.linear == 0) reader.problem(key, "needs linear above 0");
  }
  reader.optional("top_p", sampling.top_p, 0.0, 1.0);
  reader.optional("top_k", sampling.top_k, int64_t{0}, kMostWhole);
  reader.optional("min_p", sampling.min_p, 0.0, 1.0);
  reader.optional("eos_penalty", sampling.eos_penalty, 0.0, kMost);
  int64_t seed = 0;
  reader.optional("seed", seed, int64_t{0}, kMostWhole);
  sampling.seed = static_cast<uint64_t>(seed);

  reader.optional("ahead_steps", options.ahead_steps, int64_t{1}, int64_t{100'000});
  reader.choice<bool>("ahead", options.edge, {{"exact", false}, {"edge", true}});
  reader.optional("device", options.load.device);
  reader.optional("dtype", options.load.dtype);
  std::string quantize = "none";
  reader.optional("quantize", quantize);
  try {
    options.load.quantization = parse_quantization(quantize);
  } catch (const UserError& error) {
    reader.problem("quantize", error.what());
  }
  if (options.load.quantization != Quantization::kNone &&
      options.load.quantization != Quantization::kInt8) {
    reader.problem("quantize", "the voice's weights can be none or int8");
  }
  return options;
}

}  // namespace predgen
