#include "voice/zonos/zonos_options.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace predgen {
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

}  // namespace predgen
