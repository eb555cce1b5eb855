#include "runtime/speech/spoken_answer.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "text/utf8.h"
#include "text/words.h"

namespace predgen {
namespace {

/// A sentence's estimated sound length if only its beginning was made.
constexpr Seconds kPerLetter{0.065}, kPerWordAlone{0.195};

/// The end of a sentence that a filter or device may still hold; it contains no word.
constexpr Seconds kSlack{0.05};

Seconds length_of(const SpokenAnswer::Sentence& sentence) {
  if (sentence.is_whole) return sentence.length;
  Seconds guess{0};
  for (size_t i = 0; i < sentence.text.size();) {
    const auto character = character_at(sentence.text, i);
    guess += is_word_alone(character.code) ? kPerWordAlone : kPerLetter;
    i += character.length;
  }
  return std::max(sentence.length, guess);
}

/// Whether the characters on both sides of byte `i`, neither the first nor the last, are of one
/// word.
bool is_inside_word(std::string_view text, size_t i) {
  const auto ends_word = [](char32_t code) { return is_space(code) || has_no_word_spaces(code); };
  return !ends_word(character_at(text, i).code) &&
         !ends_word(character_at(text, character_before(text, i)).code);
}

}  // namespace

std::string_view share_of_text(std::string_view text, double share) {
  const double size = std::max(share, 0.0) * static_cast<double>(text.size());
  if (size >= static_cast<double>(text.size())) return text;
  size_t end = complete_utf8_length(text.substr(0, static_cast<size_t>(size)));
  while (end > 0 && is_inside_word(text, end)) end = character_before(text, end);
  while (end > 0 && is_space(character_at(text, character_before(text, end)).code)) {
    end = character_before(text, end);
  }
  return text.substr(0, end);
}

std::string heard_text(const std::string& answer, const SpokenAnswer& spoken) {
  if (spoken.played <= Seconds(0)) return {};
  size_t heard = 0;
  bool is_found = true;  // not if an impossible call stands between its words
  Seconds left = spoken.played;
  for (const SpokenAnswer::Sentence& sentence : spoken.sentences) {
    const size_t begin = answer.find(sentence.text, heard);
    is_found = begin != std::string::npos;
    const Seconds length = length_of(sentence);
    if (left + kSlack < length) {
      if (!is_found) return answer.substr(0, heard);
      const std::string_view words = share_of_text(sentence.text, left / length);
      return answer.substr(0, words.empty() ? heard : begin + words.size());
    }
    left -= length;
    if (is_found) heard = begin + sentence.text.size();
  }
  const bool is_all = !is_found || is_blank(std::string_view(answer).substr(heard));
  return is_all ? answer : answer.substr(0, heard);
}

size_t SpokenTrack::say(const std::string& sentence) {
  if (std::exchange(has_ended_, false)) {
    sentences_.clear();
    is_written_ = false;
  }
  sentences_.push_back({.text = sentence});
  return sentences_.size() - 1;
}

void SpokenTrack::add_sound(size_t sentence, int64_t num_samples) {
  sentences_[sentence].num_samples += num_samples;
}

void SpokenTrack::will_write(int64_t num_samples) {
  if (std::exchange(is_cleared_, false)) end_ = sink_.num_played();
  if (!std::exchange(is_written_, true)) begin_ = end_;
  end_ += num_samples;
}

SpokenAnswer SpokenTrack::answer() const {
  const auto seconds = [this](int64_t num_samples) {
    return Seconds(static_cast<double>(num_samples) / sample_rate_);
  };
  SpokenAnswer answer;
  for (const Sentence& sentence : sentences_) {
    answer.sentences.push_back({.text = sentence.text,
                                .length = seconds(sentence.num_samples),
                                .is_whole = sentence.is_whole});
  }
  if (is_written_)
    answer.played = seconds(std::clamp<int64_t>(sink_.num_played(), begin_, end_) - begin_);
  return answer;
}

}  // namespace predgen
