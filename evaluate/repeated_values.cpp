#include "evaluate/repeated_values.h"

#include <algorithm>

#include "core/text.h"

namespace predgen::evaluate {
namespace {

using Words = std::vector<std::string>;

struct SplitText {
  Words words;                 // lower case, without punctuation at their ends
  std::vector<bool> is_value;  // by word: a part of a name or a number
};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

SplitText split_words(std::string_view text) {
  SplitText split;
  bool begins_sentence = true;
  for (size_t end = 0; (text = trimmed(text.substr(end))), !text.empty();) {
    end = std::min(text.size(), text.find_first_of(" \t\r\n\v\f"));
    const std::string_view piece = text.substr(0, end);
    const std::string_view word = trimmed(piece, ".,!?;:\"'()$");
    if (!word.empty()) {
      const bool is_i = word == "I" || word.starts_with("I'");
      const bool is_name = is_upper(word[0]) && !begins_sentence && !is_i;
      split.is_value.push_back(is_name || (word.size() > 1 && std::ranges::any_of(word, is_digit)));
      std::string& lower = split.words.emplace_back(word);
      for (char& c : lower) c = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    }
    begins_sentence = std::string_view(".!?").find(piece.back()) != std::string_view::npos;
  }
  return split;
}

bool holds(const Words& words, const Words& run) {
  return std::search(words.begin(), words.end(), run.begin(), run.end()) != words.end();
}

}  // namespace

Words lower_words(std::string_view text) { return split_words(text).words; }

Words find_values(std::string_view text) {
  const SplitText split = split_words(text);
  Words values;
  for (size_t i = 0; i < split.words.size(); ++i) {
    if (split.is_value[i]) values.push_back(split.words[i]);
  }
  return values;
}

std::vector<Words> find_repeated_values(std::string_view prompt, std::string_view reference) {
  const SplitText said = split_words(prompt);
  const Words again = split_words(reference).words;
  std::vector<Words> values;
  for (size_t begin = 0; begin < said.words.size(); ++begin) {
    if (!said.is_value[begin]) continue;
    Words run, value;
    for (size_t i = begin; i < said.words.size(); ++i) {
      run.push_back(said.words[i]);
      if (!holds(again, run)) break;
      if (said.is_value[i]) value = run;
    }
    if (value.empty()) continue;
    begin += value.size() - 1;
    values.push_back(std::move(value));
  }
  return values;
}

RepeatedValues count_repeated_values(std::string_view prompt, std::string_view reference,
                                     std::string_view answer) {
  const Words words = split_words(answer).words;
  RepeatedValues count;
  for (const Words& value : find_repeated_values(prompt, reference)) {
    ++count.num_values;
    count.num_repeated += holds(words, value);
  }
  return count;
}

}  // namespace predgen::evaluate
