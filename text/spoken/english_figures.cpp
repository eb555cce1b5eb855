#include "text/spoken/english_figures.h"

#include <fmt/format.h>

#include "text/spoken/english_codes.h"
#include "text/spoken/english_dates.h"
#include "text/spoken/english_money.h"
#include "text/spoken/english_numbers.h"
#include "text/spoken/text_rules.h"

namespace predgen {
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
