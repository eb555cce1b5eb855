#include "voice/speaker/speaker_embedding.h"

#include "core/error.h"
#include "model/weights/weight_check.h"
#include "tensors/safetensors.h"

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

}  // namespace predgen
