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

/// "168 Hamilton St.", "on Market St. near", "350 N. Oak Dr": behind a name, unless another name
/// follows. Otherwise they are a saint and a doctor.
std::string spoken_streets(std::string_view text) {
  constexpr Abbreviation kStreets[] = {
      {"St", "Street"},      {"Dr", "Drive"},    {"Rd", "Road"},      {"Ln", "Lane"},
      {"Ct", "Court"},       {"Pl", "Place"},    {"Sq", "Square"},    {"Ave", "Avenue"},
      {"Blvd", "Boulevard"}, {"Hwy", "Highway"}, {"Pkwy", "Parkway"}, {"Ter", "Terrace"}};
  constexpr Abbreviation kDirections[] = {
      {"N", "North"},      {"S", "South"},      {"E", "East"},       {"W", "West"},
      {"NE", "Northeast"}, {"NW", "Northwest"}, {"SE", "Southeast"}, {"SW", "Southwest"}};
  static const std::string kind = "(St|Dr|Rd|Ln|Ct|Pl|Sq|Ave|Blvd|Hwy|Pkwy|Ter)";
  static const std::string street_name = R"((\p{Lu}[\p{L}'\x{2019}.]*|[0-9]+(st|nd|rd|th))\s)";
  static const Regex direction(speech_pattern(R"((?<=[0-9]\s)([NS][EW]?|[EW])\.?(?=\s()" +
                                              street_name + "){1,3}" + kind + R"((?![\p{L}])))"));
  // A house number stands in front.
  static const Regex house(speech_pattern(R"((?<![0-9.,])[0-9]+[a-z]*\s()" + street_name +
                                          "){1,3}" + kind + R"((\.|(?=[,;]|(?!.))))"));
  // No name follows: small letters, figures, marks, the end, or a word that begins a sentence.
  static const Regex behind_name(speech_pattern(
      R"((?<![\p{L}\p{N}])(?!(I|Is|It|The|See|Call|Ask|Tell|Hi|Hello|Hey|Dear|Thanks|Yes|No|Is|And|But|As|Our|My|Your|His|Her|A|Mr|Mrs)\s))" +
      street_name + R"((St|Dr|Rd|Ln|Ct|Pl|Sq|Ave|Blvd|Hwy|Pkwy)\.)" +
      R"((?=\s+[\p{Ll}0-9(]|[,;:)!?"'\x{2019}\x{201d}]|\s*(?!.)|\s(The|Then|There|This|That|It|Its|Turn|Go|You|We|He|She|They|In|On|At|And|But|For|From|Next|Take|After|Please|Is|Are|If|When|Your|My|Our)\s))"));
  static const Regex without_point(speech_pattern(
      R"((?<![\p{L}\p{N}]))" + street_name +
      R"((St|Dr|Rd|Ln|Ave|Blvd|Hwy|Pkwy)(?=\s+(\p{Ll}|[0-9(]|[NSEW]{1,2}(?![\p{L}]))|[,;:)!?]|(?!.)))"));
  const auto spoken_kind = [&](std::string_view match, std::string_view rest) {
    const size_t begin = match.find_last_of(" \t\n") + 1;
    const std::string_view written = match.substr(begin);
    const auto found =
        std::ranges::find(kStreets, written.substr(0, written.find('.')), &Abbreviation::written);
    const std::string words = std::string(match.substr(0, begin)).append(found->spoken);
    // A capital behind the point begins a sentence: the pattern excludes names.
    const bool ends = written.ends_with('.') && !rest.starts_with(" Apt") && rest.size() > 1 &&
                      rest[0] == ' ' && std::isupper(static_cast<unsigned char>(rest[1])) != 0;
    return ends ? words + "." : with_end(words, match, rest);
  };
  std::string result = replace_each(direction, text, [&](std::string_view match, auto) {
    const auto found =
        std::ranges::find(kDirections, match.substr(0, match.find('.')), &Abbreviation::written);
    return std::string(found->spoken);
  });
  for (const Regex* const regex : {&house, &behind_name, &without_point}) {
    result = replace_each(*regex, result, spoken_kind);
  }
  return result;
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
    static const TextRules generations(
        {{R"((?<![\p{L}\p{N}])Gen\.(?=\s(X|Y|Z|Alpha|Beta)(?![\p{L}])))", "Gen"}});
    if (regex->first == "en") result = generations.apply(spoken_streets(result));
    result = spoken(abbreviations_of(regex->first), regex->second, result);
  }
  return joined_initials(result);
}

}  // namespace predgen
