#include "text/spoken/english_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

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

/// "$2.5 million" and "€3.50": amounts that would be split at their point or begin with their unit.
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

}  // namespace

std::string english_figures(std::string_view text) {
  static const Regex time(
      speech_pattern(R"((?<![0-9:.,])([01]?[0-9]|2[0-3]):[0-5][0-9](?![0-9:]))"));
  static const Regex large(speech_pattern(
      R"([$\x{20ac}\x{00a3}][0-9]+(,[0-9]{3})*(\.[0-9]+)?\s?(thousand|million|billion|trillion)(?![a-z]))"));
  static const Regex amount(
      speech_pattern(R"([\x{20ac}\x{00a3}][0-9]+(,[0-9]{3})*(\.[0-9]{2})?(?![.,]?[0-9]))"));
  static const TextRules rules({{R"(~\s?(?=[0-9]))", "about "}});
  const auto spoken = [](std::string_view match, auto) { return spoken_amount(match); };
  std::string result = replace_each(time, text, spoken_time);
  result = replace_each(large, result, spoken);
  result = replace_each(amount, result, spoken);
  return rules.apply(result);
}

}  // namespace predgen
