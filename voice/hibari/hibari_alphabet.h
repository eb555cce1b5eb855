#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// espeak-ng's American IPA (SpokenPiece::phonemes) in the letters that Hibari was trained on
/// (those of misaki, the front end of Kokoro, from which it was distilled): one letter per
/// diphthong, no length marks, American flaps. tests/voice/hibari/hibari_parity.py measures how
/// close that is to Hibari's own front end.
std::string hibari_phonemes(std::string_view ipa);

/// The ids of Hibari's letters. Immutable.
class HibariAlphabet {
 public:
  /// Reads vocab.json. UserError if it is missing or maps anything but single characters to ids.
  explicit HibariAlphabet(const std::filesystem::path& file);

  /// The ids of hibari_phonemes(), with the 0 at both ends that the network expects. Characters
  /// without an id are left out; empty if none has one.
  std::vector<int64_t> ids(std::string_view phonemes) const;

 private:
  std::map<char32_t, int64_t> ids_;
};

}  // namespace predgen
