#include "text/spoken/spoken_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/spoken/abbreviations.h"
#include "text/spoken/english_figures.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

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

}  // namespace predgen
