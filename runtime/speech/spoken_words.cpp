#include "runtime/speech/spoken_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/speech/abbreviations.h"
#include "runtime/speech/text_rules.h"

namespace predgen {
namespace {

constexpr SpokenSymbols kSymbols[] = {
    {"en", "dot", "at", "and", "underscore", "Code omitted."},
    {"de", "Punkt", "at", "und", "Unterstrich", "Code ausgelassen."},
    {"es", "punto", "arroba", "y", "guion bajo", "C\u00f3digo omitido."},
    {"fr", "point", "arobase", "et", "tiret bas", "Code omis."},
    {"it", "punto", "chiocciola", "e", "trattino basso", "Codice omesso."},
    {"pt", "ponto", "arroba", "e", "sublinhado", "C\u00f3digo omitido."},
};

Regex pattern(const char* source) {
  return Regex(source, Regex::Syntax::kPattern, "text for speech");
}

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

/// The host of a URL, spoken, and the marks of the sentence that stood behind the URL.
std::string spoken_url(std::string_view url, std::string_view dot) {
  static const Regex marks(pattern(R"([.,;:!?)\]}'"\x{201d}\x{00bb}\x{2026}]+(?!.))"));
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
  static const Regex mail(pattern(
      R"((mailto:)?(?<![A-Za-z0-9._%+\-])[A-Za-z0-9][A-Za-z0-9._%+\-]*@[A-Za-z0-9\-]+(\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,})"));
  static const Regex url(pattern(
      R"((?i)((https?|ftp)://|(?<![A-Za-z0-9.])www\.)[^\s<>"\x{3000}-\x{303f}\x{ff00}-\x{ffef}\x{4e00}-\x{9fff}]+)"));
  static const Regex path(
      pattern(R"((?<![A-Za-z0-9._/\-])[a-z0-9\-]+(\.[a-z0-9\-]+)*\.[a-z]{2,}/[^\s<>"]*)"));
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
  static const Regex point(pattern(R"((?<=[A-Za-z0-9]{2})\.(?=[A-Za-z][A-Za-z0-9]))"));
  return replace_each(point, forgotten_space.apply(text),
                      [&](auto, auto) { return fmt::format(" {} ", dot); });
}

std::string spoken_time(std::string_view time, std::string_view rest) {
  const size_t colon = time.find(':');
  std::string result(time.substr(0, colon));
  const std::string_view minutes = time.substr(colon + 1);
  if (minutes != "00") {
    result += minutes[0] == '0' ? fmt::format(" oh {}", minutes[1]) : fmt::format(" {}", minutes);
    return result;
  }
  const size_t next = rest.find_first_not_of(' ');
  const char c = next == std::string_view::npos ? ' ' : rest[next];
  const bool half_of_day = std::string_view("aApP").find(c) != std::string_view::npos &&
                           next + 1 < rest.size() &&
                           std::string_view("mM.").find(rest[next + 1]) != std::string_view::npos;
  const int hour = std::stoi(result);
  if (half_of_day) return result;
  return hour >= 1 && hour <= 12 ? result + " o'clock" : result + " hundred";
}

/// "$2.5 million" and "€3.50": amounts that would be cut at their point or begin with their unit.
std::string spoken_amount(std::string_view amount) {
  struct Currency {
    std::string_view sign, one, many;
  };
  constexpr Currency kCurrencies[] = {
      {"$", "dollar", "dollars"}, {"\u20ac", "euro", "euros"}, {"\u00a3", "pound", "pounds"}};
  const auto currency = std::ranges::find_if(
      kCurrencies, [&](const Currency& c) { return amount.starts_with(c.sign); });
  amount.remove_prefix(currency->sign.size());
  const size_t scale = amount.find_first_of(" tmb");
  std::string_view number = amount.substr(0, scale);
  const size_t point = number.find('.');
  if (scale != std::string_view::npos) {
    const size_t word = amount.find_first_not_of(' ', scale);
    return fmt::format("{} {} {}", number, amount.substr(word), currency->many);
  }
  const std::string_view whole = number.substr(0, point);
  const std::string_view unit = whole == "1" ? currency->one : currency->many;
  std::string_view hundredths = point == std::string_view::npos ? "" : number.substr(point + 1);
  if (hundredths.starts_with('0')) hundredths.remove_prefix(1);
  if (hundredths.empty() || hundredths == "0") return fmt::format("{} {}", whole, unit);
  return fmt::format("{} {} {}", whole, unit, hundredths);
}

std::string spoken_english_numbers(std::string_view text) {
  static const Regex time(pattern(R"((?<![0-9:.,])([01]?[0-9]|2[0-3]):[0-5][0-9](?![0-9:]))"));
  static const Regex large(pattern(
      R"([$\x{20ac}\x{00a3}][0-9]+(,[0-9]{3})*(\.[0-9]+)?\s?(thousand|million|billion|trillion)(?![a-z]))"));
  static const Regex amount(
      pattern(R"([\x{20ac}\x{00a3}][0-9]+(,[0-9]{3})*(\.[0-9]{2})?(?![.,]?[0-9]))"));
  static const TextRules rules({{R"(~\s?(?=[0-9]))", "about "}});
  const auto spoken = [](std::string_view match, auto) { return spoken_amount(match); };
  std::string result = replace_each(time, text, spoken_time);
  result = replace_each(large, result, spoken);
  result = replace_each(amount, result, spoken);
  return rules.apply(result);
}

}  // namespace

const SpokenSymbols& spoken_symbols(std::string_view language) {
  const std::string_view first = language.substr(0, language.find('-'));
  const auto found = std::ranges::find(kSymbols, first, &SpokenSymbols::language);
  return found == std::end(kSymbols) ? kSymbols[0] : *found;
}

std::string spoken_words(std::string_view text, std::string_view language) {
  static const Regex ampersand(pattern(R"(\s*&\s*)"));
  const SpokenSymbols& symbols = spoken_symbols(language);
  std::string result = spoken_addresses(text, symbols);
  result = spoken_abbreviations(result, language);
  result = spoken_points(result, symbols.dot);
  result = replace_each(ampersand, result,
                        [&](auto, auto) { return fmt::format(" {} ", symbols.conjunction); });
  return language.starts_with("en") ? spoken_english_numbers(result) : result;
}

}  // namespace predgen
