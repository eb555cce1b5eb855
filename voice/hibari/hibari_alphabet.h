#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// espeak-ng's American IPA (SpokenPiece::phonemes) in the letters that Hibari was trained on
/// (those of misaki, the front end of Kokoro, from which it was distilled): one letter for a
/// diphthong, no lengths, American flaps. tests/voice/hibari/hibari_parity.py says how near that is
/// to Hibari's own front end.
std::string hibari_phonemes(std::string_view ipa);

/// The ids of Hibari's letters. Immutable.
class HibariAlphabet {
 public:
  /// Reads vocab.json. UserError if it is not there, or maps anything but single characters to ids.
  explicit HibariAlphabet(const std::filesystem::path& file);

  /// Of hibari_phonemes(), with the 0 at both ends that the network wants. Characters that it has
  /// no id for are left out; empty: it has none.
  std::vector<int64_t> ids(std::string_view phonemes) const;

 private:
  std::map<char32_t, int64_t> ids_;
};

}  // namespace predgen
