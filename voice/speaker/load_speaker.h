#pragma once

#include <ATen/ATen.h>

#include <filesystem>

namespace predgen {

/// The speaker embedding, float [128], from a file that holds it (.safetensors), or from a
/// recording of the speaker, for which `speaker_model` computes it once; the result is kept in the
/// user's cache folder ($XDG_CACHE_HOME/predgen or ~/.cache/predgen) under the recording's content.
/// `speaker_model`: a folder with Zyphra's two speaker files, converted to safetensors. UserError
/// for anything missing or unusable.
at::Tensor load_speaker(const std::filesystem::path& file,
                        const std::filesystem::path& speaker_model);

}  // namespace predgen
