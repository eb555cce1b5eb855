#pragma once

#include <ATen/ATen.h>

#include <filesystem>

namespace predgen {

constexpr int64_t kSpeakerEmbeddingSize = 128;

/// A voice in a file: safetensors with one tensor "speaker_embedding", float32 [128].
void save_speaker_embedding(const std::filesystem::path& file, const at::Tensor& embedding);
/// UserError if the file holds anything else.
at::Tensor load_speaker_embedding(const std::filesystem::path& file);

}  // namespace predgen
