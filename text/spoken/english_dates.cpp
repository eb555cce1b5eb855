#include "text/spoken/english_dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr std::string_view kDays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                      "Friday", "Saturday", "Sunday"};

std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> result;
  for (size_t i = text.find_first_of("0123456789"); i != std::string_view::npos;
       i = text.find_first_of("0123456789", i)) {
    int number = 0;
    const char* const end = std::from_chars(text.data() + i, text.data() + text.size(), number).ptr;
    result.push_back(number);
    i = static_cast<size_t>(end - text.data());
  }
  return result;
}

bool is_day(int month, int day) {
  constexpr int kMonthDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= kMonthDays[month - 1];
}

std::string spoken_date(int year, int month, int day) {
  return fmt::format("{} {}, {}", kMonths[month - 1], day, year);
}

/// "2026-11-28", also with a time behind it, whose zone is only taken if it is Z.
std::string spoken_year_first(std::string_view match, std::string_view /*rest*/) {
  const std::vector<int> parts = numbers_in(match);
  if (!is_day(parts[1], parts[2])) return std::string(match);
  std::string result = spoken_date(parts[0], parts[1], parts[2]);
  const size_t colon = match.find(':');
  if (colon != std::string_view::npos) {
    result += fmt::format(", {}", match.substr(colon - 2, 5));
    if (match.ends_with('Z')) result += " UTC";
  }
  return result;
}

/// "11/28/2026", "28.11.2026", "11/28/26".
std::string spoken_year_last(std::string_view match, std::string_view /*rest*/) {
  const std::vector<int> parts = numbers_in(match);
  const bool day_first = match.find('.') != std::string_view::npos;
  int month = day_first ? parts[1] : parts[0];
  int day = day_first ? parts[0] : parts[1];
  if (!is_day(month, day)) std::swap(month, day);
  if (!is_day(month, day)) return std::string(match);
  const bool is_short = parts[2] < 100;
  return spoken_date(is_short ? parts[2] + (parts[2] < 70 ? 2000 : 1900) : parts[2], month, day);
}

/// "3/14", whose day is no common part; and any after "on", or after a word like "since" if it
/// cannot be a fraction.
std::string spoken_month_and_day(std::string_view match, std::string_view /*rest*/) {
  const std::vector<int> parts = numbers_in(match);
  const size_t begin = match.find_first_of("0123456789");
  const bool maybe_fraction = parts[0] < parts[1] && (parts[1] <= 10 || parts[1] == 12);
  const bool is_name = match.substr(begin) == "9/11";
  const bool on = match.starts_with("on") || match.starts_with("On");
  if (!is_day(parts[0], parts[1]) || is_name || (maybe_fraction && !on)) return std::string(match);
  return fmt::format("{}{} {}", match.substr(0, begin), kMonths[parts[0] - 1], parts[1]);
}

std::string whole_name(std::string_view shortened) {
  const auto begins = [&](std::string_view name) {
    return name.starts_with(shortened.substr(0, 3));
  };
  const auto month = std::ranges::find_if(kMonths, begins);
  return std::string(month != std::end(kMonths) ? *month : *std::ranges::find_if(kDays, begins));
}

/// "Mon-Fri", "Jan.–Mar".
std::string spoken_name_range(std::string_view match, std::string_view /*rest*/) {
  const size_t last = match.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                             match.size() - 1);
  return fmt::format("{} to {}", whole_name(match), whole_name(match.substr(last + 1)));
}

}  // namespace

std::string english_dates(std::string_view text) {
  static const Regex year_first(speech_pattern(
      R"((?<![\p{L}\p{N}/.\-])[12][0-9]{3}(-[0-9]{1,2}-|/[0-9]{1,2}/|\.[0-9]{1,2}\.)[0-9]{1,2}([T ][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?Z?)?(?![\p{L}\p{N}:+/\-]|\.[0-9]))"));
  static const Regex year_last(speech_pattern(
      R"((?<![\p{L}\p{N}/.\-])([0-9]{1,2}(-[0-9]{1,2}-|/[0-9]{1,2}/|\.[0-9]{1,2}\.)[12][0-9]{3}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2})(?![\p{L}\p{N}/\-]|\.[0-9]))"));
  static const Regex month_and_day(speech_pattern(
      R"(((?<![\p{L}\p{N}])([Oo]n|[Bb]y|[Uu]ntil|[Tt]ill|[Ss]ince|[Ff]rom|[Bb]efore|[Aa]fter|[Dd]ue)\s[0-9]{1,2}/[0-9]{1,2}|(?<![\p{L}\p{N}/.,$:\-])(0?[1-9]|1[0-2])/(1[345789]|2[1-9]|3[01]))(?![\p{L}\p{N}/\-]|[.,][0-9]))"));
  static const std::string month = "(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)";
  static const std::string day = "(Mon|Tues?|Wed|Thu(rs?)?|Fri|Sat|Sun)";
  static const std::string dash = R"(\.?\s?[\-\x{2013}\x{2014}]\s?)";
  static const Regex name_range(speech_pattern(R"((?<![\p{L}\p{N}\-])()" + month + dash + month +
                                               "|" + day + dash + day + R"()(?![\p{L}\-]))"));
  // Beside a day of the month or a year; a day of the week also before a month.
  static const Regex month_name(speech_pattern(R"((?<![\p{L}\p{N}\-]))" + month +
                                               R"((?=\.?\s[0-9])|(?<=[0-9]\s))" + month +
                                               R"((?=[.,]?\s[0-9]{4}|(?![\p{L}.\-])))"));
  static const Regex day_name(speech_pattern(
      R"((?<![\p{L}\p{N}\-]))" + day +
      R"(\.?(?=,?\s([0-9]|January|February|March|April|May\s|June|July|August|September|October|November|December)))"));
  const auto whole = [](std::string_view match, auto) { return whole_name(match); };
  std::string result = replace_each(year_first, text, spoken_year_first);
  result = replace_each(year_last, result, spoken_year_last);
  result = replace_each(month_and_day, result, spoken_month_and_day);
  result = replace_each(name_range, result, spoken_name_range);
  result = replace_each(month_name, result, whole);
  return replace_each(day_name, result, whole);
}

}  // namespace predgen
