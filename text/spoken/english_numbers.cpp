#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "text/spoken/english_figures.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

std::string_view before_match(std::string_view text, std::string_view match) {
  return text.substr(0, static_cast<size_t>(match.data() - text.data()));
}

bool ends_with_article(std::string_view before) {
  static const Regex article(speech_pattern(R"((?i)(?<![\p{L}\p{N}'])(an?|the)\s(?!.))"));
  return ends_with(before, 5, article);
}

// Fractions.

constexpr std::string_view kCounts[] = {
    "",      "one",  "two", "three",  "four",   "five",     "six",      "seven",
    "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen"};

/// The name of a part, one of `denominator`: "third". Empty if it has no common one.
std::string_view part_name(int denominator) {
  switch (denominator) {
    case 2:
      return "half";
    case 3:
      return "third";
    case 4:
      return "quarter";
    case 5:
      return "fifth";
    case 6:
      return "sixth";
    case 7:
      return "seventh";
    case 8:
      return "eighth";
    case 9:
      return "ninth";
    case 10:
      return "tenth";
    case 12:
      return "twelfth";
    case 16:
      return "sixteenth";
    case 32:
      return "thirty-second";
    case 64:
      return "sixty-fourth";
    default:
      return "";
  }
}

std::string_view article_for(std::string_view noun) {
  const bool vowel = std::string_view("aeiou").find(noun[0]) != std::string_view::npos;
  return vowel || noun.starts_with("hour") ? "an" : "a";
}

/// "cups" and "tsp" as "cup" and "teaspoon".
std::string one_of(std::string_view unit) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"tsp", "teaspoon"}, {"tbsp", "tablespoon"}, {"oz", "ounce"}, {"lb", "pound"},
      {"lbs", "pound"},    {"hr", "hour"},         {"hrs", "hour"}, {"feet", "foot"}};
  const auto found = std::ranges::find(kShort, unit, [](const auto& pair) { return pair.first; });
  if (found != std::end(kShort)) return std::string(found->second);
  if (unit.ends_with("ches") || unit.ends_with("sses")) unit.remove_suffix(2);
  if (unit.ends_with("s") && !unit.ends_with("ss")) unit.remove_suffix(1);
  return std::string(unit);
}

struct Fraction {
  int whole = 0, above = 0, below = 0;
  std::string_view noun;  // with the blank in front
};

Fraction read_fraction(std::string_view match) {
  Fraction result;
  const size_t slash = match.find('/');
  const auto number = [](std::string_view digits) {
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  const size_t gap = match.substr(0, slash).find_last_of(" -");
  if (gap != std::string_view::npos) result.whole = number(match);
  result.above = number(match.substr(gap + 1));  // npos + 1 is 0
  result.below = number(match.substr(slash + 1));
  const size_t end = match.find_first_not_of("0123456789", slash + 1);
  if (end != std::string_view::npos) result.noun = match.substr(end);
  return result;
}

/// "and a half", "and three quarters".
std::string after_whole(const Fraction& fraction) {
  const std::string_view part = part_name(fraction.below);
  if (fraction.above == 1) return fmt::format("and {} {}", article_for(part), part);
  return fmt::format("and {} {}s", kCounts[fraction.above], part);
}

std::string spoken_fraction(std::string_view before, std::string_view match,
                            std::string_view rest) {
  static const Regex halved(speech_pattern(
      R"((?<!.)\s(full|empty|the|as|price|way|done|off|a|an|my|your|his|her|their|our)(?![\p{L}]))"));
  const Fraction fraction = read_fraction(match);
  const auto [whole, above, below, noun] = fraction;
  const std::string_view part = part_name(below);
  const bool has_name = !part.empty() && above >= 1 && above < below && above < 16;
  if (whole > 0) {
    return has_name ? fmt::format("{} {}{}", whole, after_whole(fraction), noun)
                    : std::string(match);
  }
  static const Regex counted(speech_pattern(
      R"((?i)(?<![\p{L}])(step|part|page|question|slide|day|week|round|level|lesson|item)s?\s(?!.))"));
  if (ends_with(before, 12, counted)) return fmt::format("{} of {}{}", above, below, noun);
  if ((above == 24 && below == 7) || (above == 9 && below == 11) || noun == " time" ||
      (above == below && (above == 50 || above == 20))) {
    return fmt::format("{} {}{}", above, below, noun);
  }
  const bool is_mark =
      below == 10 || below == 100 || below == 20 || above == below || noun == " stars";
  if (is_mark && above <= below && noun != " of") {
    return fmt::format("{} out of {}{}", above, below, noun);
  }
  if (!has_name) return fmt::format("{} over {}{}", above, below, noun);
  const bool is_half = below == 2;
  const std::string many =
      is_half ? "half" : fmt::format("{} {}{}", kCounts[above], part, above == 1 ? "" : "s");
  if (ends_with_article(before)) {  // "a 1/2 inch gap"
    return fmt::format("{}{}", above == 1 ? part : std::string_view(many), noun);
  }
  if (noun == " of") return fmt::format("{} of", many);
  if (noun.empty()) {
    const bool is_spoken_half = is_half && begins_with(rest, 8, halved);
    return is_half && !is_spoken_half && !before.ends_with(" in ") ? "one half" : many;
  }
  const std::string unit = one_of(noun.substr(1));
  if (is_half) return fmt::format("half {} {}", article_for(unit), unit);
  const std::string some = above == 1 ? fmt::format("{} {}", article_for(part), part) : many;
  return fmt::format("{} of {} {}", some, article_for(unit), unit);
}

std::string spoken_fractions(std::string_view text) {
  static const std::string units =
      R"(cups?|teaspoons?|tsp|tablespoons?|tbsp|ounces?|oz|pounds?|lbs?|inch(es)?|foot|feet|miles?|hours?|hrs?|minutes?|seconds?|days?|weeks?|months?|years?|gallons?|pints?|quarts?|lit(er|re)s?|met(er|re)s?|kilomet(er|re)s?|grams?|kilograms?|kilos?|acres?|yards?|sticks?|packs?|packets?|packages?|cans?|bags?|slices?|bottles?|glass(es)?|bowls?|tanks?|pizzas?|sandwich(es)?|lemons?|limes?|onions?|apples?|pounds?|cloves?|pills?|tablets?|bags?|dozen|percent|stars|time|of)";
  static const Regex fraction(
      speech_pattern(R"((?<![\p{L}\p{N}/.,$:\-])([0-9]{1,3}( {1,2}|-))?[0-9]{1,3}/[0-9]{1,3}(\s()" +
                     units + R"()(?![\p{L}\-]))?(?![\p{L}\p{N}/]|[.,:][0-9]))"));
  static const TextRules signs({{R"(\x{bd})", " 1/2"},
                                {R"(\x{bc})", " 1/4"},
                                {R"(\x{be})", " 3/4"},
                                {R"(\x{2153})", " 1/3"},
                                {R"(\x{2154})", " 2/3"},
                                {R"(\x{2155})", " 1/5"},
                                {R"(\x{2156})", " 2/5"},
                                {R"(\x{2157})", " 3/5"},
                                {R"(\x{2158})", " 4/5"},
                                {R"(\x{2159})", " 1/6"},
                                {R"(\x{215a})", " 5/6"},
                                {R"(\x{215b})", " 1/8"},
                                {R"(\x{215c})", " 3/8"},
                                {R"(\x{215d})", " 5/8"},
                                {R"(\x{215e})", " 7/8"},
                                {R"((?<=[0-9])\x{2044}(?=[0-9]))", "/"}});
  const std::string plain = signs.apply(text);
  return replace_each(fraction, plain, [&](std::string_view match, std::string_view rest) {
    return spoken_fraction(before_match(plain, match), match, rest);
  });
}

// Heights and lengths.

/// Whether a quotation that begins before is still open, so that a mark closes it.
bool is_quoted(std::string_view before, char mark) {
  bool open = false;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != mark) continue;
    const char last = i == 0 ? ' ' : before[i - 1];
    if (open || last == ' ' || last == '(') open = !open;
  }
  return open;
}

std::string spoken_lengths(std::string_view text) {
  static const TextRules marks(
      {{R"((?<=[0-9])\s?(\x{2032}|\x{2019}(?=[0-9]{1,2}([^0-9s]|(?!.)))))", "'"},
       {R"((?<=[0-9])(\x{2033}|\x{201d}|''|\x{2019}\x{2019}))", "\""},
       {R"((?<=[0-9])\s?ft\.?(?=\s[0-9]{1,2}\s?in(?![\p{L}])))", "'"},
       {R"((?<=[0-9]')\s(?=[0-9]{1,2}\s?in(?![\p{L}])))", ""},
       {R"((?<=[0-9]'[0-9]|[0-9]'[0-9]{2})\s?in(?![\p{L}])\.?)", "\""},
       {R"((?<=[0-9])\s?ft(?![\p{L}.]))", " feet"}});
  static const Regex height(speech_pattern(
      R"((?<![\p{L}\p{N}.'])[0-9]{1,2}' ?[0-9]{1,2}(\.[0-9])?("|(?![\p{L}\p{N}'])))"));
  static const Regex length(
      speech_pattern(R"((?<![\p{L}\p{N}'])[0-9]+(\.[0-9]+)?['"](?![\p{L}\p{N}]))"));
  const std::string plain = marks.apply(text);
  std::string result = replace_each(height, plain, [](std::string_view match, auto) {
    const size_t feet = match.find('\'');
    std::string_view inches = match.substr(feet + 1);
    if (inches.ends_with('"')) inches.remove_suffix(1);
    if (inches.starts_with(' ')) inches.remove_prefix(1);
    return inches == "0" ? fmt::format("{} foot", match.substr(0, feet))
                         : fmt::format("{} foot {}", match.substr(0, feet), inches);
  });
  const std::string after_heights = result;
  return replace_each(length, after_heights, [&](std::string_view match, std::string_view rest) {
    const std::string_view before = before_match(after_heights, match);
    const char mark = match.back();
    if (is_quoted(before, mark)) return std::string(match);
    const std::string_view number = match.substr(0, match.size() - 1);
    const bool one = number == "1" || (ends_with_article(before) && rest.starts_with(' '));
    const std::string_view unit = mark == '"' ? (one ? "inch" : "inches") : (one ? "foot" : "feet");
    return fmt::format("{} {}", number, unit);
  });
}

// Ranges, sums and signs.

std::string spoken_ranges(std::string_view text) {
  static const std::string number =
      R"([0-9]+(:[0-9]{2})?(,[0-9]{3})*(\.[0-9]+)?(\s?[ap]m|\s?[AP]M|%|s|\s?\x{b0}[CF]?)?)";
  static const Regex range(speech_pattern(R"((?<![\p{L}\p{N}./,:'\-\x{2013}])(?<!Boeing ))" +
                                          number + R"(\s?[\-\x{2013}\x{2014}\x{2212}]\s?)" +
                                          number +
                                          R"((?![0-9\p{Lu}/]|[.,:][0-9]|[\-\x{2013}][0-9]))"));
  return replace_each(range, text, [](std::string_view match, auto) {
    size_t dash = match.find('-');
    for (const std::string_view sign : {"\u2013", "\u2014", "\u2212"}) {
      dash = std::min(dash, match.find(sign));
    }
    const std::string_view first = match.substr(0, match.find_last_not_of(' ', dash - 1) + 1);
    const size_t second = match.find_first_of("0123456789", dash);
    return fmt::format("{} to {}", first, match.substr(second));
  });
}

/// Between the numbers of an equation, and of a sum that is asked for.
std::string spoken_sums(std::string_view text) {
  static const TextRules rules({
      {R"((?<=[0-9)])\s?x\s?(?=[0-9.,]+\s?=))", " times "},
      {R"((?<=[0-9)])\s?[\-\x{2212}]\s?(?=[0-9.,]{1,20}(\s?[+\-\x{2212}\x{d7}\x{f7}*/]\s?[0-9.,]{1,20}){0,4}\s?=))",
       " minus "},
      {R"((?<=[0-9)%])\s?=\s?(?=[\-\x{2212}]?[0-9(\p{L}$]))", " equals "},
      {R"((?<=[\p{L})])\s=\s(?=[\-\x{2212}]?[0-9($]))", " equals "},
      {R"((?<=[0-9)])\s?\+\s?(?=[0-9(]))", " plus "},
      {R"((?<=[0-9]|dollars|euros|pounds)\+(?=[\s.,;:!?)]|(?!.)))", " plus"},
      {R"((?<=[0-9)%])\s?\x{d7}\s?(?=[0-9(]))", " times "},
      {R"((?<=[0-9)%])\s?\x{f7}\s?(?=[0-9(]))", " divided by "},
      {R"((?<=[0-9)])\s?\x{b1}\s?(?=[0-9(]))", " plus or minus "},
      {R"(\x{b1}\s?(?=[0-9]))", "plus or minus "},
  });
  static const Regex asked(speech_pattern(
      R"((?i)(?<=what is |what's |calculate |compute )[0-9.,]+\s[\-\x{2212}]\s(?=[0-9]))"));
  return replace_each(asked, rules.apply(text), [](std::string_view match, auto) {
    return fmt::format("{} minus ", match.substr(0, match.find(' ')));
  });
}

}  // namespace

std::string english_numbers(std::string_view text) {
  static const TextRules ratios(
      {{R"((?<=(?<![0-9:.,])[0-9]|(?<![0-9:.,])[0-9]{2}|(?<![0-9:.,])[0-9]{3}):(?=[0-9](?![0-9:])))",
        " to "}});
  static const TextRules signs({
      {R"((?<![\p{L}\p{N}.,)\]%'"\-\x{b0}])[\-\x{2212}](?=\.?[0-9]))", "minus "},
      {R"((?<![\p{L}\p{N}&#])#(?=[0-9]))", "number "},
      {R"((?<=(?<![\p{L}\p{N}])[CF])#(?![\p{L}\p{N}]))", " sharp"},
      {R"((?<=(?<![0-9.,])1)\s?\x{b0}(?!\s?[CF](?![\p{L}])))", " degree"},
      {R"((?<=[0-9])\s?(\x{2103}|\x{b0}\s?C(?![\p{L}])))", " degrees Celsius"},
      {R"((?<=[0-9])\s?(\x{2109}|\x{b0}\s?F(?![\p{L}])))", " degrees Fahrenheit"},
      {R"((?<=[0-9])\s?\x{b0})", " degrees"},
  });
  std::string result = spoken_lengths(spoken_ranges(spoken_sums(text)));
  return signs.apply(spoken_fractions(ratios.apply(result)));
}

}  // namespace predgen
