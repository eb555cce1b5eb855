#include "text/spoken/abbreviations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>
#include <vector>

#include "text/sentence/abbreviation_table.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

/// A pattern for abbreviations, longest first. Some need a number after them: "No. 5", not "No."; a
/// lower-case first letter also matches the capital.
Regex any_of(std::span<const Abbreviation> abbreviations) {
  std::vector<Abbreviation> longest_first(abbreviations.begin(), abbreviations.end());
  std::ranges::stable_sort(longest_first, std::greater(),
                           [](const Abbreviation& one) { return one.written.size(); });
  std::string pattern("(?<![\\p{L}\\p{N}.])(");
  for (const Abbreviation& one : longest_first) {
    if (pattern.back() != '(') pattern += '|';
    const char first = one.written[0];
    if (std::islower(static_cast<unsigned char>(first)) != 0) {
      pattern += fmt::format("[{}{}]", first,
                             static_cast<char>(std::toupper(static_cast<unsigned char>(first))));
    } else {
      pattern += first;
    }
    for (const char c : one.written.substr(1)) {
      if (c == '.') pattern += '\\';
      pattern += c;
    }
    pattern += one.use == PointUse::kBeforeNumber ? "(?=\\s?[0-9])" : "(?![\\p{L}\\p{N}])";
  }
  return speech_pattern(pattern.append(")"));
}

/// With the point that also ends the sentence.
std::string with_end(std::string words, std::string_view written, std::string_view rest) {
  const bool ends =
      written.ends_with('.') && rest.find_first_not_of("\"')]* \n") == std::string_view::npos;
  return ends ? words.append(".") : words;
}

std::string spoken(std::span<const Abbreviation> abbreviations, const Regex& regex,
                   std::string_view text) {
  return replace_each(regex, text, [&](std::string_view match, std::string_view rest) {
    const auto found =
        std::ranges::find_if(abbreviations, [&](const Abbreviation& one) { return one.is(match); });
    std::string words(found->spoken);
    const bool capital = match[0] != found->written[0] && found->use != PointUse::kBeforeNumber;
    if (capital) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
    return with_end(std::move(words), match, rest);
  });
}

/// "168 Hamilton St.", "5 Oak Dr.": otherwise they are a saint and a doctor.
std::string spoken_streets(std::string_view text) {
  constexpr Abbreviation kStreets[] = {
      {"St.", "Street"}, {"Dr.", "Drive"}, {"Rd.", "Road"}, {"Ln.", "Lane"}, {"Ct.", "Court"}};
  static const Regex street(
      speech_pattern(R"((?<![0-9.,])[0-9]+[a-z]*\s(\p{Lu}[\p{L}.]*\s){1,3}(St|Dr|Rd|Ln|Ct)\.)"));
  return replace_each(street, text, [&](std::string_view match, std::string_view rest) {
    const size_t begin = match.size() - 3;
    const auto found = std::ranges::find(kStreets, match.substr(begin), &Abbreviation::written);
    return with_end(std::string(match.substr(0, begin)).append(found->spoken), match, rest);
  });
}

/// U.S., J. K. Rowling.
std::string joined_initials(std::string_view text) {
  static const Regex dotted(speech_pattern(R"((?<![\p{L}\p{N}.])(\p{Lu}\.){2,})"));
  static const Regex initial(speech_pattern(R"((?<![\p{L}\p{N}.])\p{Lu}\.(?=\s\p{Lu}))"));
  const auto without_points = [](std::string_view match, std::string_view rest) {
    std::string letters(match);
    std::erase(letters, '.');
    return with_end(std::move(letters), match, rest);
  };
  return replace_each(initial, replace_each(dotted, text, without_points), without_points);
}

}  // namespace

std::string spoken_abbreviations(std::string_view text, std::string_view language) {
  static const std::map<std::string_view, Regex> regexes = [] {
    std::map<std::string_view, Regex> result;
    for (const std::string_view code : {"de", "en", "es", "fr", "it"}) {
      result.emplace(code, any_of(abbreviations_of(code)));
    }
    return result;
  }();
  std::string result(text);
  const auto regex = regexes.find(language.substr(0, language.find('-')));
  if (regex != regexes.end()) {
    if (regex->first == "en") result = spoken_streets(result);
    result = spoken(abbreviations_of(regex->first), regex->second, result);
  }
  return joined_initials(result);
}

}  // namespace predgen
