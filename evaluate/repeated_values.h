#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::evaluate {

/// Values that a user gave and the dataset's answer repeats ("Which place?" - "Lake Merritt." - "A
/// table in Lake Merritt, right?"): whether a model's answer has them too tells a model that
/// listens from one that has memorised likely answers.
struct RepeatedValues {
  int64_t num_repeated = 0, num_values = 0;
};

/// The words of a text, in lower case and without punctuation at their ends.
std::vector<std::string> lower_words(std::string_view text);

/// The words that are part of a name or a number, as below.
std::vector<std::string> find_values(std::string_view text);

/// Names and numbers of `prompt` that `reference` repeats, as lower-case words: the longest runs of
/// words that both contain and that begin and end with a name's (an ASCII capital letter, but not
/// the first of a sentence, nor "I") or a number's (a digit and more: answers contain "1" by
/// coincidence). A run that occurs twice counts twice.
std::vector<std::vector<std::string>> find_repeated_values(std::string_view prompt,
                                                           std::string_view reference);

/// How many of these `answer` contains.
RepeatedValues count_repeated_values(std::string_view prompt, std::string_view reference,
                                     std::string_view answer);

}  // namespace predgen::evaluate
