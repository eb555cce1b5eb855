#include "voice/hibari/hibari_alphabet.h"

#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// Every occurrence of the first becomes the second, rule by rule. A word has a space on both
/// sides.
constexpr std::pair<std::string_view, std::string_view> kRules[] = {
    // Single phonemes: diphthongs, affricates, syllables without a vowel.
    {"a\u026A", "I"},
    {"a\u028A", "W"},
    {"e\u026A", "A"},
    {"o\u028A", "O"},
    {"\u0254\u026A", "Y"},
    {"d\u0292", "\u02A4"},
    {"t\u0283", "\u02A7"},
    {"\u0259l", "\u1D4Al"},
    {"\u0294_n\u0329", "t\u1D4An"},
    {"n\u0329", "\u1D4An"},
    {"_", ""},
    // Words that espeak-ng joins.
    {"n\u00F0\u0259 ", "n \u00F0\u0259 "},
    {"v\u00F0\u0259 ", "v \u00F0\u0259 "},
    // Vowels before r.
    {"i\u0259\u0279", "\u026A\u0279"},
    {"\u025C\u02D0\u0279", "\u025C\u0279"},
    {"\u025C\u02D0", "\u025C\u0279"},
    {"\u025A", "\u0259\u0279"},
    {"\u0279\u0279", "\u0279"},
    {"\u026A\u0259", "i\u0259"},
    // Lengths.
    {"o\u02D0", "\u0254"},
    {"\u02D0", ""},
    // A t between vowels, but not between words.
    {"\u027E ", "t "},
    {"\u027E", "T"},
    {"\u0294", "t"},
    // Weak vowels; the article "a" keeps its own.
    {" \u0250 ", " @ "},
    {"\u0250", "\u0259"},
    {"@", "\u0250"},
    {"\u1D7B", "\u0259"},
    // The pronoun has a stress.
    {" I ", " \u02CCI "},
    // Sounds that American English lacks.
    {"r", "\u0279"},
    {"x", "k"},
};

}  // namespace

std::string hibari_phonemes(std::string_view ipa) {
  std::string phonemes = ' ' + std::string(ipa) + ' ';
  for (const auto& [from, to] : kRules) {
    for (size_t at = 0; (at = phonemes.find(from, at)) != std::string::npos; at += to.size()) {
      phonemes.replace(at, from.size(), to);
    }
  }
  return phonemes.substr(1, phonemes.size() - 2);
}

HibariAlphabet::HibariAlphabet(const std::filesystem::path& file) {
  const Json vocabulary = read_json(file);
  const auto fail = [&](const std::string& key) {
    throw UserError("{}: is no vocabulary of Hibari: \"{}\" is not a character with an id from 1",
                    file.string(), key);
  };
  if (!vocabulary.is_object() || vocabulary.empty()) fail("");
  for (const auto& [key, id] : vocabulary.items()) {
    size_t end = 0;
    if (!key.empty()) next_character(key, end);
    const bool is_one = !key.empty() && end == key.size();
    if (!is_one || !id.is_number_integer() || id.get<int64_t>() < 1) fail(key);
    size_t at = 0;
    ids_.emplace(next_character(key, at), id.get<int64_t>());
  }
}

std::vector<int64_t> HibariAlphabet::ids(std::string_view phonemes) const {
  std::vector<int64_t> ids{0};
  for (size_t at = 0; at < phonemes.size();) {
    const auto found = ids_.find(next_character(phonemes, at));
    if (found != ids_.end()) ids.push_back(found->second);
  }
  if (ids.size() == 1) return {};
  ids.push_back(0);
  return ids;
}

}  // namespace predgen
