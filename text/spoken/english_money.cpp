#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "text/spoken/english_figures.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

struct Currency {
  std::string_view sign, one, many, hundredth = "cent", hundredths = "cents";
};

/// Signs that begin with another one's letters stand first.
constexpr Currency kCurrencies[] = {
    {"US$", "US dollar", "US dollars"},
    {"USD", "US dollar", "US dollars"},
    {"CA$", "Canadian dollar", "Canadian dollars"},
    {"C$", "Canadian dollar", "Canadian dollars"},
    {"CAD", "Canadian dollar", "Canadian dollars"},
    {"AU$", "Australian dollar", "Australian dollars"},
    {"A$", "Australian dollar", "Australian dollars"},
    {"AUD", "Australian dollar", "Australian dollars"},
    {"NZ$", "New Zealand dollar", "New Zealand dollars"},
    {"NZD", "New Zealand dollar", "New Zealand dollars"},
    {"HK$", "Hong Kong dollar", "Hong Kong dollars"},
    {"HKD", "Hong Kong dollar", "Hong Kong dollars"},
    {"S$", "Singapore dollar", "Singapore dollars"},
    {"SGD", "Singapore dollar", "Singapore dollars"},
    {"$", "dollar", "dollars"},
    {"\u20ac", "euro", "euros"},
    {"EUR", "euro", "euros"},
    {"\u00a3", "pound", "pounds", "penny", "pence"},
    {"GBP", "pound", "pounds", "penny", "pence"},
    {"\u00a5", "yen", "yen", "", ""},
    {"JPY", "yen", "yen", "", ""},
    {"CNY", "yuan", "yuan", "", ""},
    {"RMB", "yuan", "yuan", "", ""},
    {"\u20b9", "rupee", "rupees", "paisa", "paise"},
    {"Rs.", "rupee", "rupees", "paisa", "paise"},
    {"Rs", "rupee", "rupees", "paisa", "paise"},
    {"INR", "rupee", "rupees", "paisa", "paise"},
    {"\u20a9", "won", "won", "", ""},
    {"KRW", "won", "won", "", ""},
    {"\u20bd", "ruble", "rubles", "kopek", "kopeks"},
    {"RUB", "ruble", "rubles", "kopek", "kopeks"},
    {"\u20ba", "lira", "lira", "", ""},
    {"CHF", "Swiss franc", "Swiss francs", "", ""},
    {"SEK", "Swedish krona", "Swedish kronor", "", ""},
    {"NOK", "Norwegian krone", "Norwegian kroner", "", ""},
    {"DKK", "Danish krone", "Danish kroner", "", ""},
    {"MXN", "Mexican peso", "Mexican pesos", "", ""},
};

struct Word {
  std::string_view written, spoken;
};
constexpr Word kScales[] = {
    {"k", "thousand"},       {"thousand", "thousand"}, {"m", "million"},   {"mn", "million"},
    {"mm", "million"},       {"million", "million"},   {"b", "billion"},   {"bn", "billion"},
    {"billion", "billion"},  {"t", "trillion"},        {"tn", "trillion"}, {"trn", "trillion"},
    {"trillion", "trillion"}};
constexpr Word kPeriods[] = {{"hr", "hour"},  {"h", "hour"},   {"wk", "week"},
                             {"mo", "month"}, {"yr", "year"},  {"gal", "gallon"},
                             {"lb", "pound"}, {"oz", "ounce"}, {"kg", "kilogram"}};

/// Words that a noun follows: "a $20 bill".
constexpr std::string_view kDeterminers[] = {"a",     "an",      "the",  "this", "that",
                                             "my",    "your",    "his",  "her",  "our",
                                             "their", "another", "each", "every"};

template <size_t n>
std::string_view word_for(const Word (&words)[n], std::string_view written) {
  const auto found = std::ranges::find(words, written, &Word::written);
  return found == std::end(words) ? written : found->spoken;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

/// "1,250.75" and its scale ("M", "million", none).
struct Amount {
  std::string_view number;
  std::string scale;

  bool has_hundredths() const {
    const size_t point = number.find_last_of(".,");  // "€1,50" as on the continent
    return scale.empty() && point != std::string_view::npos && number.size() - point == 3;
  }
};

/// Takes a number and a scale from the front of `text`.
Amount take_amount(std::string_view& text) {
  text = trimmed(text, " ");
  Amount result{.number = text.substr(0, text.find_first_not_of("0123456789.,")), .scale = {}};
  text.remove_prefix(result.number.size());
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  size_t end = begin;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
  const std::string written = lower(text.substr(begin, end - begin));
  const auto scale = std::ranges::find(kScales, written, &Word::written);
  if (scale == std::end(kScales)) return result;
  result.scale = scale->spoken;
  text.remove_prefix(end);
  return result;
}

/// `plain_unit`: as before a noun, "20 dollar".
std::string spoken_amount(const Amount& amount, const Currency& currency, bool plain_unit) {
  const std::string_view many = plain_unit ? currency.one : currency.many;
  if (!amount.scale.empty()) return fmt::format("{} {} {}", amount.number, amount.scale, many);
  if (!amount.has_hundredths()) {
    return fmt::format("{} {}", amount.number, amount.number == "1" ? currency.one : many);
  }
  const size_t point = amount.number.find_last_of(".,");
  const std::string_view whole = point == 0 ? "0" : amount.number.substr(0, point);
  std::string_view hundredths = amount.number.substr(point + 1);
  if (hundredths[0] == '0') hundredths.remove_prefix(1);
  if (whole == "0" && hundredths != "0" && !currency.hundredth.empty()) {
    return fmt::format("{} {}", hundredths,
                       hundredths == "1" || plain_unit ? currency.hundredth : currency.hundredths);
  }
  const std::string_view unit = whole == "1" ? currency.one : many;
  return hundredths == "0" ? fmt::format("{} {}", whole, unit)
                           : fmt::format("{} {} {}", whole, unit, hundredths);
}

/// Takes a currency from the front of `text`, if there is one.
const Currency* take_currency(std::string_view& text) {
  text = trimmed(text, " ");
  const auto found = std::ranges::find_if(
      kCurrencies, [&](const Currency& c) { return text.starts_with(c.sign); });
  if (found == std::end(kCurrencies)) return nullptr;
  text.remove_prefix(found->sign.size());
  return found;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_dash(std::string_view& text) {
  text = trimmed(text, " ");
  return take(text, "-") || take(text, "\u2013") || take(text, "\u2014");
}

/// A lower-case noun follows, as in "a $20 bill", not as in "a $5 or so".
bool noun_follows(std::string_view rest) {
  static const Regex noun(speech_pattern(
      R"((?<!.)[ -](?!(or|and|to|per|a|an|for|in|on|at|is|was|of|if|as|but|by|from|than|when|you|he|she|they|we|it|that|which|who|will|would|can|could|has|had|have|are|were|with|more|less|off|each|plus)(?![a-z]))[a-z])"));
  return begins_with(rest, 12, noun);
}

/// One amount or a range of two, with all that belongs to it.
std::string spoken_match(std::string_view match, std::string_view rest) {
  std::string result;
  bool plain_unit = false;
  const size_t blank = match.find(' ');
  const std::string first_word = lower(match.substr(0, std::min(blank, match.size())));
  if (std::ranges::find(kDeterminers, first_word) != std::end(kDeterminers)) {
    result = match.substr(0, blank + 1);
    match.remove_prefix(blank + 1);
    plain_unit = noun_follows(rest);
  }
  if (take(match, "-") || take(match, "\u2212")) result += "minus ";
  const Currency* currency = take_currency(match);
  const Amount first = take_amount(match);
  Amount second;
  if (take_dash(match)) {
    take_currency(match);
    second = take_amount(match);
  }
  const Currency* behind = take_currency(match);
  if (currency == nullptr || (behind != nullptr && currency->sign == "$")) currency = behind;
  if (second.number.empty()) {
    result += spoken_amount(first, *currency, plain_unit);
  } else if (first.has_hundredths() || second.has_hundredths()) {
    result += fmt::format("{} to {}", spoken_amount(first, *currency, plain_unit),
                          spoken_amount(second, *currency, plain_unit));
  } else {
    const bool same_scale = first.scale == second.scale || first.scale.empty();
    result +=
        fmt::format("{}{}{} to {}", first.number, same_scale ? "" : " ",
                    same_scale ? "" : first.scale, spoken_amount(second, *currency, plain_unit));
  }
  if (take(match, "/")) result += fmt::format(" per {}", word_for(kPeriods, match));
  return result;
}

}  // namespace

std::string english_money(std::string_view text) {
  static const std::string sign =
      R"((US|CA?|AU?|NZ|HK|S)?\$|[\x{20ac}\x{a3}\x{a5}\x{20b9}\x{20a9}\x{20bd}\x{20ba}])";
  static const std::string code =
      R"(Rs\.?|USD|CAD|AUD|NZD|HKD|SGD|EUR|GBP|JPY|CNY|RMB|INR|KRW|RUB|CHF|SEK|NOK|DKK|MXN)";
  static const std::string amount =
      R"(([0-9]+(,[0-9]{3})*(\.[0-9]+)?|[0-9]+,[0-9]{2}|\.[0-9]{2})(\s?(thousand|million|billion|trillion)(?![a-z])|(\s?[KMBT]|(?i:k|mn?|mm|bn?|tn?|trn))(?![A-Za-z0-9]))?(?![.,]?[0-9]))";
  static const std::string begin =
      R"(((?<![\p{L}\p{N}'])(?i:an?|the|this|that|my|your|his|her|our|their|another|each|every)\s)?(?<![\p{L}\p{N}.,])[-\x{2212}]?)";
  static const std::string per =
      R"((/(hour|hr|h|day|night|week|wk|month|mo|year|yr|person|head|item|unit|piece|pound|lb|ounce|oz|kilogram|kg|gallon|gal|lit(er|re)|mile|km|user|seat|share|ticket)(?![a-z]))?)";
  static const Regex with_sign(
      speech_pattern(begin + "(" + sign + R"()\s?)" + amount + R"((\s?[-\x{2013}\x{2014}]\s?()" +
                     sign + ")?" + amount + R"()?(\s()" + code + R"()(?![A-Za-z]))?)" + per));
  static const Regex with_code(speech_pattern(begin + "(" + code + R"()\s?)" + amount +
                                              R"((\s?[-\x{2013}\x{2014}]\s?)" + amount + ")?" +
                                              per));
  static const Regex behind(speech_pattern(
      begin + amount + R"((\s?[-\x{2013}\x{2014}]\s?)" + amount + R"()?\s?()" + code +
      R"(|[\x{20ac}\x{a3}\x{a5}\x{20b9}\x{20a9}\x{20bd}\x{20ba}])(?![A-Za-z0-9]))" + per));
  static const TextRules cents({{R"((?<=[0-9])\s?\x{a2})", " cents"}});
  std::string result = replace_each(with_sign, text, spoken_match);
  result = replace_each(with_code, result, spoken_match);
  return cents.apply(replace_each(behind, result, spoken_match));
}

}  // namespace predgen
