#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace predgen {

/// The settings of a Piper voice in NAME.onnx.json.
struct PiperConfig {
  int64_t sample_rate = 0;  // Hz
  std::string language;     // as espeak-ng names it
  double noise_scale = 0.667, length_scale = 1, noise_w = 0.8;
  std::vector<std::pair<std::string, int64_t>>
      speakers;                                  // names and ids, by id; empty: one speaker
  std::map<char32_t, std::vector<int64_t>> ids;  // of phonemes and marks
  std::map<char32_t, std::u32string> replaced;   // phonemes replaced by others

  /// UserError if the file is missing, lacks a field, or is not for a voice that speaks espeak-ng's
  /// phonemes.
  static PiperConfig load(const std::filesystem::path& file);

  /// The ids of SpokenPiece::phonemes, as a sentence: with its begin, its end, and the pause that
  /// Piper puts between all ids. Characters without an id are left out; empty: all are.
  std::vector<int64_t> phoneme_ids(std::string_view phonemes) const;
};

}  // namespace predgen
