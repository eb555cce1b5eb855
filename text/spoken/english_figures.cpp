#include "text/spoken/english_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "text/spoken/text_rules.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// "(415) 555-0132" as "4 1 5, 5 5 5, 0 1 3 2".
std::string digit_groups(std::string_view text) {
  std::string result;
  bool is_new_group = true;
  for (const char c : text) {
    if (!is_digit(c)) {
      is_new_group = true;
      continue;
    }
    if (!result.empty()) result += is_new_group ? ", " : " ";
    result += c;
    is_new_group = false;
  }
  return result;
}

size_t count_digits(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, is_digit));
}

std::string spoken_groups(std::string_view match, std::string_view /*rest*/) {
  return digit_groups(match);
}

/// "+44 20 7946 0958".
std::string spoken_international(std::string_view match, std::string_view /*rest*/) {
  const bool has_groups = match.find_first_of(" -.()") != std::string_view::npos;
  const size_t digits = count_digits(match);
  if (digits < (has_groups ? 7 : 10) || digits > 15) return std::string(match);
  return "plus " + digit_groups(match);
}

/// Words behind which three and four digits are a telephone number rather than a range.
bool speaks_of_telephones(std::string_view before) {
  static const Regex word(speech_pattern(
      R"((?i)(call|dial|phone|number|tel|fax|text|cell|mobile|reach|ring|whatsapp|sms|contact)s?[^.!?]*(?!.))"));
  return ends_with(before, 40, word);
}

/// "867-5309" in `text`.
std::string spoken_local(std::string_view text, std::string_view match) {
  const std::string_view before = text.substr(0, static_cast<size_t>(match.data() - text.data()));
  const bool is_telephone =
      match.starts_with("555") || match[4] == '0' || speaks_of_telephones(before);
  return is_telephone ? digit_groups(match) : std::string(match);
}

/// "020 7946 0958": a zero in front, and as many digits as a telephone number has.
std::string spoken_national(std::string_view match, std::string_view /*rest*/) {
  return count_digits(match) < 8 ? std::string(match) : digit_groups(match);
}

std::string spoken_telephones(std::string_view text) {
  static const Regex international(
      speech_pattern(R"((?<![\p{L}\p{N}])\+[0-9]([ .()\-]{0,2}[0-9]){6,14}(?![\p{L}\p{N}]))"));
  static const Regex american(speech_pattern(
      R"((?<![\p{L}\p{N}.,/+\-])(1[ .\-])?(\([2-9][0-9]{2}\)[ \-]?|[2-9][0-9]{2}[ .\-])[2-9][0-9]{2}[ .\-][0-9]{4}(?![\p{L}\p{N}/]|[.,\-][0-9]))"));
  static const Regex local(speech_pattern(
      R"((?<![\p{L}\p{N}.,/$+\-])[2-9][0-9]{2}[ \-][0-9]{4}(?![\p{L}\p{N}/%]|[.,\-][0-9]))"));
  static const Regex national(speech_pattern(
      R"((?<![\p{L}\p{N}.,/+\-])\(?0[0-9]{1,4}\)?([ /\-]{1,3}[0-9]{2,8}){1,4}(?![\p{L}\p{N}/]|[.,\-][0-9]))"));
  static const Regex emergency(speech_pattern(
      R"((?i)(?<![\p{L}])(?<=call |dial |text |ring |phone |calling |dialing |or )(911|112|999|000|111|211|311|411|988|811)(?![\p{L}\p{N}]|[.,:/\-][0-9]))"));
  static const Regex after_call(speech_pattern(
      R"((?i)(?<=call |dial |text |phone |fax |number |number is |number: |tel: |tel\. |phone: )[0-9]{7,11}(?![\p{L}\p{N}]|[.,:/\-][0-9]))"));
  std::string result = replace_each(international, text, spoken_international);
  result = replace_each(american, result, spoken_groups);
  result = replace_each(national, result, spoken_national);
  const std::string before_local = result;
  result = replace_each(local, before_local, [&](std::string_view match, auto) {
    return spoken_local(before_local, match);
  });
  result = replace_each(emergency, result, spoken_groups);
  return replace_each(after_call, result, spoken_groups);
}

std::string with_points_as(std::string_view word, std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '.':
        result += fmt::format(" {} ", word);
        break;
      case ':':
        result += " port ";
        break;
      case '/':
        result += " slash ";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// "192.168.0.1:8080", "10.0.0.0/8", and the ports of names: "localhost:3000".
std::string spoken_machines(std::string_view text) {
  static const Regex address(speech_pattern(
      R"((?i)(?<![\p{L}\p{N}.])(?<!version )(?<!release )(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(\.(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])){3}(:[0-9]{1,5}|/[0-9]{1,2})?(?![\p{L}\p{N}]|\.[0-9]))"));
  static const Regex port(speech_pattern(
      R"((?<=localhost| dot [a-z]{2}| dot [a-z]{3}| dot local):[0-9]{2,5}(?![0-9]))"));
  const auto spoken = [](std::string_view match, auto) { return with_points_as("dot", match); };
  return replace_each(port, replace_each(address, text, spoken), spoken);
}

/// "1.2.3", "v2", but not the thousands of "1.234.567".
std::string spoken_versions(std::string_view text) {
  static const TextRules letter(
      {{R"((?i)(?<![\p{L}\p{N}])version v(?=[0-9]))", "version "},
       {R"((?<![\p{L}\p{N}./\-])v\.?\s?(?=[0-9]+(\.[0-9]+)*(?![\p{L}0-9])))", "version "}});
  static const Regex version(speech_pattern(
      R"((?<![\p{L}\p{N}.,])(?![0-9]{1,3}(\.[0-9]{3})+(?![0-9.]))[0-9]+(\.[0-9]+){2,}(?![0-9]))"));
  return replace_each(version, letter.apply(text),
                      [](std::string_view match, auto) { return with_points_as("point", match); });
}

std::string spoken_codes(std::string_view text) {
  // What a word in front makes a code: "The PIN is 1234".
  static const Regex named(speech_pattern(
      R"((?i)(?<![\p{L}])(codes?|pin|passcode|password|zip|postcode|otp|isbn|serial)(\scode|\snumber)?(\sis|:|\s=)?\s[0-9]{2,}([ \-][0-9]{2,})*(?![\p{L}\p{N}]|[.,:/\-][0-9]))"));
  static const Regex card(speech_pattern(
      R"((?<![\p{L}\p{N}.,])[0-9]{4}([ \-][0-9]{4}){3}(?![\p{L}\p{N}]|[.,\-][0-9]))"));
  static const Regex groups(speech_pattern(
      R"((?<![\p{L}\p{N}.,/$\-])[0-9]+(-[0-9]+){2,}(?![\p{L}\p{N}=%]|[.,:/\-][0-9]|\s=))"));
  static const Regex leading_zero(
      speech_pattern(R"((?<![\p{L}\p{N}.,:/\-])0[0-9]+(?![\p{L}\p{N}]|[.,:/\-][0-9]))"));
  static const Regex letters_and_zero(speech_pattern(
      R"((?<![\p{L}\p{N}.,:/\-])\p{Lu}{1,3}-?0[0-9]+(?![\p{L}\p{N}]|[.,:/\-][0-9]))"));
  static const Regex very_long(
      speech_pattern(R"((?<![\p{L}\p{N}.,/$#\-])[0-9]{11,}(?![\p{L}\p{N}%]|[.,\-][0-9]))"));
  std::string result = replace_each(named, text, [](std::string_view match, auto) {
    const size_t first = match.find_first_of("0123456789");
    return std::string(match.substr(0, first)) + digit_groups(match.substr(first));
  });
  for (const Regex* const code : {&card, &groups, &leading_zero, &very_long}) {
    result = replace_each(*code, result, spoken_groups);
  }
  return replace_each(letters_and_zero, result, [](std::string_view match, auto) {
    const size_t letters = match.find_first_of("-0");
    return fmt::format("{} {}", match.substr(0, letters), digit_groups(match.substr(letters)));
  });
}

}  // namespace

std::string english_codes(std::string_view text) {
  return spoken_codes(spoken_versions(spoken_machines(spoken_telephones(text))));
}

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

namespace {

std::string spoken_time(std::string_view time, std::string_view rest) {
  const size_t colon = time.find(':');
  const int hour = std::stoi(std::string(time.substr(0, colon)));
  std::string result = std::to_string(hour);
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
  if (half_of_day) return result;
  return hour >= 1 && hour <= 12 ? result + " o'clock" : result + " hundred";
}

}  // namespace

std::string english_figures(std::string_view text) {
  static const Regex time(
      speech_pattern(R"((?<![0-9:.,])([01]?[0-9]|2[0-3]):[0-5][0-9](?![0-9:]))"));
  static const TextRules about({{R"(~\s?(?=[0-9$\x{20ac}\x{a3}]))", "about "}});
  std::string result = english_codes(english_dates(about.apply(text)));
  result = english_numbers(english_money(result));
  return replace_each(time, result, spoken_time);
}

}  // namespace predgen
