#include "voice/speaker/speaker_encoder.h"

#include "core/error.h"
#include "model/weights/weight_check.h"
#include "voice/speaker/speaker_embedding.h"
#include "voice/speaker/speaker_features.h"

namespace predgen {
namespace {

constexpr int64_t kMaxSeconds = 300;  // the first layers' outputs then take 0.6 GB each

}  // namespace

SpeakerEncoder::SpeakerEncoder(const std::filesystem::path& network_file,
                               const std::filesystem::path& projection_file,
                               const SpeakerNetworkSizes& sizes)
    : network_(network_file, sizes) {
  const SafetensorsFile file(projection_file);
  std::vector<std::string> names;
  for (const auto& [name, entry] : file.entries()) names.push_back(name);
  check_weights(
      {{"weight", {kSpeakerEmbeddingSize, sizes.output}}, {"bias", {kSpeakerEmbeddingSize}}}, names,
      [&](const std::string& name) { return file.tensor(name); }, projection_file.string(),
      "the projection after Zonos' speaker network");
  weight_ = file.load("weight", at::kCPU, at::kFloat);
  bias_ = file.load("bias", at::kCPU, at::kFloat);
}

at::Tensor SpeakerEncoder::embed(const Waveform& waveform) const {
  const int64_t num_samples = waveform.samples_CN.size(1);
  if (num_samples > kMaxSeconds * waveform.sample_rate) {
    throw UserError("{}: is longer than {} seconds; 10 to 30 seconds of the voice are enough",
                    waveform.name, kMaxSeconds);
  }
  const at::Tensor samples_N = mono_at(waveform, kSpeakerRate);
  if (samples_N.size(0) < kSpeakerMinSamples) {
    throw UserError("{}: is too short: {} samples at {} Hz, at least {} are needed", waveform.name,
                    samples_N.size(0), kSpeakerRate, kSpeakerMinSamples);
  }
  const at::Tensor embedding = at::addmv(bias_, weight_, network_(speaker_features(samples_N)));
  if (!at::isfinite(embedding).all().item<bool>()) {
    throw UserError(
        "{}: gives a speaker embedding that is not finite: its samples go far beyond 1, or the "
        "speaker network's files are damaged",
        waveform.name);
  }
  return embedding;
}

}  // namespace predgen
