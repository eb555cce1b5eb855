#include "text/spoken/speech_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/sentence/abbreviation_table.h"
#include "text/spoken/english_figures.h"
#include "text/spoken/markdown_text.h"
#include "text/spoken/text_rules.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// The usual abbreviations of `language` (en, de, es, fr, it; others have none) as words, and
/// capitals with points between as plain ones (U.S. "US"), so that a voice does not read a point
/// within a sentence as its end. A final abbreviation's point stays if the text ends there.
std::string spoken_abbreviations(std::string_view text, std::string_view language);

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

constexpr SpokenSymbols kSymbols[] = {
    {"en", "dot", "at", "and", "underscore", "to the power of", "Code omitted."},
    {"de", "Punkt", "at", "und", "Unterstrich", "hoch", "Code ausgelassen."},
    {"es", "punto", "arroba", "y", "guion bajo", "elevado a", "C\u00f3digo omitido."},
    {"fr", "point", "arobase", "et", "tiret bas", "puissance", "Code omis."},
    {"it", "punto", "chiocciola", "e", "trattino basso", "elevato a", "Codice omesso."},
    {"pt", "ponto", "arroba", "e", "sublinhado", "elevado a", "C\u00f3digo omitido."},
};

std::string replace_points(std::string_view name, std::string_view dot) {
  std::string result;
  for (const char c : name) {
    if (c == '.') {
      result += fmt::format(" {} ", dot);
    } else {
      result += c;
    }
  }
  return result;
}

/// The host of a URL, spoken, and the sentence's marks that followed the URL.
std::string spoken_url(std::string_view url, std::string_view dot) {
  static const Regex marks(speech_pattern(R"([.,;:!?)\]}'"\x{201d}\x{00bb}\x{2026}]+(?!.))"));
  std::string_view tail;
  Regex::Match match;
  if (marks.find(url, 0, match)) {
    tail = url.substr(match.begin);
    url = url.substr(0, match.begin);
  }
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  url.remove_prefix(std::min(url.find('@') + 1, url.size()));  // npos + 1 is 0
  url = url.substr(0, url.find(':'));
  if (url.starts_with("www.")) url.remove_prefix(4);
  return fmt::format("{}{}", replace_points(url, dot), tail);
}

std::string spoken_mail_address(std::string_view address, const SpokenSymbols& symbols) {
  if (address.starts_with("mailto:")) address.remove_prefix(7);
  std::string result;
  for (const char c : address) {
    switch (c) {
      case '.':
        result += fmt::format(" {} ", symbols.dot);
        break;
      case '@':
        result += fmt::format(" {} ", symbols.at);
        break;
      case '_':
        result += fmt::format(" {} ", symbols.underscore);
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string spoken_addresses(std::string_view text, const SpokenSymbols& symbols) {
  static const Regex mail(speech_pattern(
      R"((mailto:)?(?<![A-Za-z0-9._%+\-])[A-Za-z0-9][A-Za-z0-9._%+\-]*@[A-Za-z0-9\-]+(\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,})"));
  static const Regex url(speech_pattern(
      R"((?i)((https?|ftp)://|(?<![A-Za-z0-9.])www\.)[^\s<>"\x{3000}-\x{303f}\x{ff00}-\x{ffef}\x{4e00}-\x{9fff}]*)"));
  static const Regex path(
      speech_pattern(R"((?<![A-Za-z0-9._/\-])[a-z0-9\-]+(\.[a-z0-9\-]+)*\.[a-z]{2,}/[^\s<>"]*)"));
  const auto host = [&](std::string_view match, auto) { return spoken_url(match, symbols.dot); };
  const std::string hosts = replace_each(url, text, host);
  const std::string mails = replace_each(mail, hosts, [&](std::string_view match, auto) {
    return spoken_mail_address(match, symbols);
  });
  return replace_each(path, mails, host);
}

/// Points between letters: a forgotten space, a name of a file or a host.
std::string spoken_points(std::string_view text, std::string_view dot) {
  static const TextRules forgotten_space({{R"((?<=[a-z0-9]{2})\.(?=[A-Z][a-z]))", ". "}});
  static const Regex point(speech_pattern(R"((?<=[A-Za-z0-9]{2})\.(?=[A-Za-z][A-Za-z0-9]))"));
  return replace_each(point, forgotten_space.apply(text),
                      [&](auto, auto) { return fmt::format(" {} ", dot); });
}

}  // namespace

const SpokenSymbols& spoken_symbols(std::string_view language) {
  const std::string_view first = language.substr(0, language.find('-'));
  const auto found = std::ranges::find(kSymbols, first, &SpokenSymbols::language);
  return found == std::end(kSymbols) ? kSymbols[0] : *found;
}

std::string spoken_words(std::string_view text, std::string_view language) {
  static const Regex ampersand(speech_pattern(R"(\s*&\s*)"));
  static const Regex power(speech_pattern(R"((?<=[\p{L}\p{N})])\s?\^\s?(?=[\p{L}\p{N}(\-]))"));
  static const TextRules small_powers(
      {{R"(\^2(?![0-9.]))", "\u00b2"}, {R"(\^3(?![0-9.]))", "\u00b3"}});
  const SpokenSymbols& symbols = spoken_symbols(language);
  std::string result = spoken_addresses(text, symbols);
  result = spoken_abbreviations(result, language);
  result = spoken_points(result, symbols.dot);
  result = replace_each(ampersand, result,
                        [&](auto, auto) { return fmt::format(" {} ", symbols.conjunction); });
  result = replace_each(power, small_powers.apply(result),
                        [&](auto, auto) { return fmt::format(" {} ", symbols.power); });
  return language.starts_with("en") ? english_figures(result) : result;
}

namespace {

/// Pictures and their colour modifiers. Signs that are read aloud, such as the degree sign, stay.
bool is_unread(char32_t code) {
  const bool beyond = code >= 0x1F000 && !is_letter_or_digit(code);
  return beyond || (code >= 0x2600 && code <= 0x27BF) || (code >= 0x2300 && code <= 0x23FF) ||
         (code >= 0x25A0 && code <= 0x25FF) || (code >= 0x2B00 && code <= 0x2BFF) ||
         code == 0x2122 || code == 0xAE || code == 0x2139 || code == 0x3030 || code == 0x303D ||
         code == 0x3297 || code == 0x3299;
}

/// Joins emoji or selects a form of a character.
bool is_variation(char32_t code) {
  return (code >= 0xFE00 && code <= 0xFE0F) || code == 0x20E3 ||
         (code >= 0xE0000 && code <= 0xE01EF);
}

/// Well-formed text without pictures and zero-width marks; control characters except line breaks
/// become spaces. Arabic and Indic letters keep their joiners and non-joiners.
std::string readable_characters(std::string_view text) {
  std::string result;
  char32_t before = 0;
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.code));
    const bool joins =
        (c.code == 0x200C || c.code == 0x200D) && before >= 0x0600 && before < 0x1000;
    const bool dropped = is_variation(c.code) || category == UTF8PROC_CATEGORY_CO ||
                         category == UTF8PROC_CATEGORY_CF || c.code == 0xFFFD;
    if (!dropped && (is_unread(c.code) || (category == UTF8PROC_CATEGORY_CC && c.code != '\n'))) {
      result += ' ';
    } else if (!dropped || joins) {
      result.append(text, i, c.length);
    }
    before = c.code;
    i += c.length;
  }
  return result;
}

bool has_word(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    if (is_letter_or_digit(c.code)) return true;
    i += c.length;
  }
  return false;
}

/// Arrows and bullets as pauses; single spaces, none before a mark or at the ends.
std::string tidy(std::string_view text) {
  static const TextRules rules({
      {R"(\s*([\x{2190}-\x{21ff}\x{2022}\x{27f5}-\x{27ff}]|[-=]+>)\s*)", ", "},
      {R"(\s+)", " "},
      {R"( +(?=[.,!?]( |(?!.))))", ""},
      {R"(,(?=[.,;:!?]))", ""},
      {R"((?<!.) )", ""},
      {R"((?<!.)[,;:]+ ?)", ""},
      {R"( (?!.))", ""},
  });
  return rules.apply(text);
}

}  // namespace

std::string speakable_text(std::string_view sentence, std::string_view language) {
  const std::string plain =
      plain_text(readable_characters(sentence), spoken_symbols(language).code_omitted);
  std::string text = tidy(spoken_words(plain, language));
  return has_word(text) ? text : std::string();
}

}  // namespace predgen
