#include "runtime/converse/consent.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace predgen {
namespace {

constexpr size_t kMostWords = 6;
constexpr std::array<std::string_view, 26> kYes{
    "yes",       "yeah",       "yep",       "yup",      "sure",  "ok",    "okay",
    "certainly", "absolutely", "please do", "go ahead", "do it", "do so", "go on",
    "of course", "ja",         "gerne",     "oui",      "si",    "sí",    "sim",
    "tak",       "hai",        "da",        "evet",     "jo"};
constexpr std::array<std::string_view, 13> kNo{"no",   "not",       "dont",   "but",  "wait",
                                               "stop", "never",     "cancel", "nein", "nicht",
                                               "non",  "different", "instead"};

}  // namespace

bool is_consent(const std::string& words) {
  const std::string bare = bare_words(words);
  const std::vector<std::string> all = list_bare_words(words);
  const bool has_no = std::ranges::any_of(
      all, [](const std::string& word) { return std::ranges::find(kNo, word) != kNo.end(); });
  return all.size() <= kMostWords && !has_no &&
         std::ranges::any_of(kYes, [&](std::string_view yes) {
           return bare == yes || bare.starts_with(std::string(yes) + " ");
         });
}

}  // namespace predgen
