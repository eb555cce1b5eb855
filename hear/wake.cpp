#include "hear/wake.h"

#include <algorithm>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/text.h"
#include "text/utf8.h"
#include "text/words.h"

namespace predgen {
namespace {

constexpr size_t kLettersPerError = 5;
constexpr Seconds kSameTurn{2};  // between voices: words of the first may still come

std::u32string letters_of(const std::string& text) {
  const std::string words = bare_words(text);
  std::u32string letters;
  for (size_t at = 0; at < words.size();) {
    const char32_t letter = next_character(words, at);
    if (letter != U' ') letters += letter;
  }
  return letters;
}

/// Where the words of a text begin and end.
std::vector<std::pair<size_t, size_t>> places_of_words(const std::string& text) {
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t at = text.find_first_not_of(' '); at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    places.emplace_back(at, end);
    at = text.find_first_not_of(' ', end);
  }
  return places;
}

}  // namespace

WakePhrase::WakePhrase(const std::string& phrase)
    : letters_(letters_of(phrase)), num_words_(places_of_words(phrase).size()) {
  if (letters_.size() >= kFewestLetters) return;
  throw UserError("the wake phrase '{}' has fewer than {} letters: too much that people say has it",
                  phrase, kFewestLetters);
}

std::optional<size_t> WakePhrase::end_in(const std::string& words) const {
  const auto places = places_of_words(words);
  std::optional<size_t> end;
  for (size_t first = 0; first < places.size(); ++first) {
    std::optional<size_t> best;  // of those that begin here
    auto least = static_cast<int64_t>(letters_.size() / kLettersPerError + 1);
    const size_t most = std::min(places.size() - first, num_words_ + 1);
    for (size_t count = std::max<size_t>(num_words_, 2) - 1; count <= most; ++count) {
      const size_t begin = places[first].first, behind = places[first + count - 1].second;
      const int64_t errors =
          edit_distance(letters_of(words.substr(begin, behind - begin)), letters_);
      if (errors >= least) continue;
      least = errors;
      best = behind;
    }
    if (best) end = best;
  }
  return end;
}

bool Wake::on_voice(Seconds now, bool is_active) {
  // A noise, or an echo, that came to no words has begun no turn.
  const bool is_new = is_active && now - voice_ended_ > kSameTurn;
  if (is_new && !has_words_) began_awake_ = false;
  if (!is_active) voice_ended_ = now;
  if (is_active && is_awake(now)) began_awake_ = true;
  return !is_active || began_awake_;
}

std::string Wake::counted(Seconds now, const std::string& words, std::optional<size_t> end) {
  has_words_ = !is_blank(words);
  if (has_words_ && is_awake(now)) began_awake_ = true;
  skipped_ = words.substr(0, end.value_or(began_awake_ ? 0 : words.size()));
  return std::string(trimmed(std::string_view(words).substr(skipped_.size())));
}

std::string Wake::on_words(Seconds now, const std::string& words) {
  return counted(now, words, phrase_.end_in(words));
}

std::string Wake::on_end(Seconds now, const std::string& words) {
  const std::optional<size_t> end = phrase_.end_in(words);
  std::string counts = counted(now, words, end);
  if (end) awake_until_ = now + rules_.follow_up;
  began_awake_ = has_words_ = false;
  return counts;
}

void Wake::set_answering(Seconds now, bool is_answering) {
  const bool is_over = is_answering_ && !is_answering;
  if (is_over) awake_until_ = now + rules_.follow_up;
  is_answering_ = is_answering;
}

}  // namespace predgen
