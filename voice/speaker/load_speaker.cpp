#include "voice/speaker/load_speaker.h"

#include <cstdlib>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"
#include "voice/speaker/speaker_network.h"
#include "voice/waveform.h"

namespace predgen {
namespace {

constexpr const char* kName = "speaker_embedding";

}  // namespace

void save_speaker_embedding(const std::filesystem::path& file, const at::Tensor& embedding) {
  PREDGEN_CHECK(embedding.sizes() == at::IntArrayRef{kSpeakerEmbeddingSize}, "embedding is {}",
                c10::str(embedding.sizes()));
  write_safetensors(file, {{kName, embedding.to(at::kCPU, at::kFloat)}});
}

at::Tensor load_speaker_embedding(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::vector<std::string> names;
  for (const auto& [name, entry] : file.entries()) names.push_back(name);
  check_weights(
      {{kName, {kSpeakerEmbeddingSize}}}, names,
      [&](const std::string& name) { return file.tensor(name); }, path.string(),
      "a speaker embedding");
  const at::Tensor embedding = file.tensor(kName).to(at::kFloat);
  if (!at::isfinite(embedding).all().item<bool>()) {
    throw UserError("{}: holds numbers that are not finite", path.string());
  }
  return embedding.clone();
}

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

namespace {

namespace fs = std::filesystem;

constexpr double kMinSeconds = 1;    // less is too little to identify a voice
constexpr double kSilence = 0.0005;  // -66 dB

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "predgen" / "voices";
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "predgen" / "voices";
  return {};
}

/// Cheaper than hashing 400 MB, and as reliable for files that nobody edits.
std::string identity_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) {
    throw UserError("{} is missing: scripts/convert_pickled.py makes it from Zyphra's .pt file",
                    file.string());
  }
  return fmt::format("{} {}", size, fs::last_write_time(file).time_since_epoch().count());
}

/// UserError for sound without a voice.
Waveform read_recording(const fs::path& file) {
  Waveform recording = read_audio_file(file);
  const double seconds = static_cast<double>(recording.samples_CN.size(1)) /
                         static_cast<double>(recording.sample_rate);
  if (seconds < kMinSeconds) {
    throw UserError("{}: holds {:.2f} seconds of sound, too little for a voice: record 10 to 30",
                    file.string(), seconds);
  }
  if (recording.samples_CN.abs().max().item<double>() < kSilence) {
    throw UserError("{}: holds only silence: record 10 to 30 seconds of the voice", file.string());
  }
  return recording;
}

/// The embedding computed before, if any.
std::optional<at::Tensor> load_cached(const fs::path& file) {
  std::error_code error;  // an unreadable folder counts as empty, too
  if (!fs::exists(file, error)) return {};
  try {
    return load_speaker_embedding(file);
  } catch (const UserError& bad) {
    spdlog::warn("{}; it is computed again", bad.what());
    return {};
  }
}

void keep(const fs::path& file, const at::Tensor& embedding) {
  try {
    if (file.empty())
      throw UserError(std::string("neither XDG_CACHE_HOME nor HOME names a folder"));
    make_folder(file.parent_path());
    save_speaker_embedding(file, embedding);
  } catch (const std::exception& error) {
    spdlog::warn("the speaker embedding is not kept: {}", error.what());
  }
}

}  // namespace

at::Tensor load_speaker(const fs::path& file, const fs::path& speaker_model) {
  if (file.extension() == ".safetensors") return load_speaker_embedding(file);
  const fs::path network = speaker_model / "ResNet293_SimAM_ASP_base.safetensors";
  const fs::path projection = speaker_model / "ResNet293_SimAM_ASP_base_LDA-128.safetensors";
  const std::string key =
      Hasher().add_file(file).add(identity_of(network)).add(identity_of(projection)).hex();
  const fs::path folder = cache_folder();
  const fs::path cached = folder.empty() ? folder : folder / fmt::format("{}.safetensors", key);
  if (const auto known = load_cached(cached)) return *known;
  const Waveform recording = read_recording(file);
  spdlog::info("computing the speaker embedding of {}, once", file.string());
  const at::Tensor embedding = SpeakerEncoder(network, projection).embed(recording);
  keep(cached, embedding);
  return embedding;
}

}  // namespace predgen
