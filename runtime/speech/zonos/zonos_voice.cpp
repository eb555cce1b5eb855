#include "runtime/speech/zonos/zonos_voice.h"

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "model/speaker/speaker_embedding.h"
#include "model/speaker/speaker_encoder.h"
#include "runtime/speech/wav_reader.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "predgen" / "voices";
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "predgen" / "voices";
  return {};
}

/// Cheaper than the content of 400 MB, and as sure for files that nobody edits.
std::string identity_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) {
    throw UserError("{} is missing: scripts/convert_pickled.py makes it from Zyphra's .pt file",
                    file.string());
  }
  return fmt::format("{} {}", size, fs::last_write_time(file).time_since_epoch().count());
}

}  // namespace

at::Tensor load_voice(const fs::path& file, const fs::path& speaker_model) {
  if (file.extension() == ".safetensors") return load_speaker_embedding(file);
  const fs::path network = speaker_model / "ResNet293_SimAM_ASP_base.safetensors";
  const fs::path projection = speaker_model / "ResNet293_SimAM_ASP_base_LDA-128.safetensors";
  const std::string key =
      Hasher().add_file(file).add(identity_of(network)).add(identity_of(projection)).hex();
  const fs::path cached = cache_folder() / fmt::format("{}.safetensors", key);
  if (fs::exists(cached)) return load_speaker_embedding(cached);
  spdlog::info("computing the speaker embedding of {}, once", file.string());
  const at::Tensor embedding = SpeakerEncoder(network, projection).embed(read_wav(file));
  try {
    make_folder(cached.parent_path());
    save_speaker_embedding(cached, embedding);
  } catch (const std::exception& error) {
    spdlog::warn("the speaker embedding is not kept: {}", error.what());
  }
  return embedding;
}

}  // namespace predgen
