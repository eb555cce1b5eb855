#include "text/backchannel.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "text/bare_words.h"

namespace predgen {
namespace {

using Words = std::vector<std::string_view>;

/// Sounds that recognisers transcribe in any language.
const Words kSounds{"ah", "aha", "ahem", "eh", "hm", "hmm",   "huh", "mhm",
                    "mm", "mmm", "mmhm", "oh", "uh", "uhhuh", "um"};

/// Words, without case, that signal agreement or "go on". "No" is not among them.
const std::map<std::string_view, Words> kWords{
    {"de", {"ach", "äh", "ähm", "genau", "gut", "ja", "klar", "ok", "okay", "stimmt"}},
    {"en", {"cool", "ok", "okay", "right", "sure", "yeah", "yep", "yes", "yup"}},
    {"es", {"ajá", "bien", "claro", "ok", "okay", "sí", "vale", "ya"}},
    {"fr", {"ah", "bien", "daccord", "euh", "mouais", "ok", "okay", "oui", "ouais"}},
    {"it", {"beh", "bene", "certo", "ok", "okay", "sì", "esatto"}},
    {"ja", {"うん", "うんうん", "ええ", "はい", "そう", "なるほど"}},
    {"nl", {"ja", "juist", "oké", "ok", "okay", "precies", "goed"}},
    {"pl", {"aha", "dobrze", "jasne", "ok", "tak"}},
    {"pt", {"certo", "claro", "é", "ok", "okay", "pois", "sim", "tá"}},
    {"zh", {"嗯", "嗯嗯", "对", "好", "好的", "是", "是的", "哦"}}};

bool is_in(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_word(std::string_view word, std::string_view language) {
  if (is_in(kSounds, word)) return true;
  if (language.empty()) {
    return std::ranges::any_of(kWords, [&](const auto& of) { return is_in(of.second, word); });
  }
  const auto of = kWords.find(language);
  return of != kWords.end() && is_in(of->second, word);
}

}  // namespace

bool is_backchannel(const std::string& words, const std::string& language) {
  // A hyphen does not end a word here: "mm-hm".
  std::string joined = words;
  std::erase(joined, '-');
  return std::ranges::all_of(list_bare_words(joined),
                             [&](const std::string& word) { return is_word(word, language); });
}

}  // namespace predgen
