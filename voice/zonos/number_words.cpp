#include "voice/zonos/number_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "text/utf8.h"

namespace predgen {
namespace {

constexpr std::array<std::string_view, 20> kOnes = {
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kTens = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::array<std::string_view, 12> kScales = {
    "",           "thousand",   "million",   "billion",   "trillion", "quadrillion", "quintillion",
    "sextillion", "septillion", "octillion", "nonillion", "decillion"};
constexpr size_t kMaxDigits = 3 * kScales.size();

/// The longest piece from byte `begin` on made of digits and `others` that ends with a digit.
std::string_view amount_at(std::string_view text, size_t begin, std::string_view others) {
  size_t end = begin;
  while (end < text.size() &&
         (is_digit(text[end]) || others.find(text[end]) != std::string_view::npos)) {
    ++end;
  }
  while (end > begin && !is_digit(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

std::string without_commas(std::string_view text) {
  std::string result(text);
  std::erase(result, ',');
  return result;
}

std::string without_leading_zeros(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? "0" : std::string(digits.substr(first));
}

std::string below_hundred(int n) {
  if (n < 20) return std::string(kOnes[n]);
  if (n % 10 == 0) return std::string(kTens[n / 10]);
  return fmt::format("{}-{}", kTens[n / 10], kOnes[n % 10]);
}

/// 1 to 999.
std::string group_words(int n, std::string_view conjunction) {
  if (n < 100) return below_hundred(n);
  std::string words = fmt::format("{} hundred", kOnes[n / 100]);
  if (n % 100 != 0) words += fmt::format("{}{}", conjunction, below_hundred(n % 100));
  return words;
}

/// `in_group` stands between hundreds and the rest, `before_last` before a last group below 100.
std::string number_words(std::string_view written, std::string_view in_group,
                         std::string_view before_last) {
  const std::string digits = without_leading_zeros(written);
  if (digits == "0") return std::string(kOnes[0]);
  std::vector<std::string> parts;
  if (digits.size() > kMaxDigits) {
    for (const char digit : written) parts.emplace_back(kOnes[digit - '0']);
    return fmt::format("{}", fmt::join(parts, " "));
  }
  int group = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    group = 10 * group + (digits[i] - '0');
    const size_t scale = (digits.size() - 1 - i) / 3;
    if ((digits.size() - 1 - i) % 3 != 0) continue;
    if (group != 0) {
      parts.push_back(group_words(group, in_group));
      if (scale > 0) parts.back() += fmt::format(" {}", kScales[scale]);
    }
    if (scale > 0) group = 0;
  }
  if (parts.size() == 1 || group == 0 || group >= 100) {
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return fmt::format("{}{}{}", fmt::join(parts, ", "), before_last, last);
}

std::string cardinal(std::string_view digits) {
  const std::string value = without_leading_zeros(digits);
  const int n = value.size() == 4 ? std::stoi(value) : 0;
  if (n <= 1000 || n >= 3000) return number_words(digits, " ", " ");
  if (n == 2000) return "two thousand";
  if (n > 2000 && n < 2010) return fmt::format("two thousand {}", kOnes[n % 100]);
  if (n % 100 == 0) return fmt::format("{} hundred", below_hundred(n / 100));
  return fmt::format("{} {}{}", below_hundred(n / 100), n % 100 < 10 ? "oh " : "",
                     below_hundred(n % 100));
}

std::string ordinal(std::string_view digits) {
  constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
      {"one", "first"},    {"two", "second"}, {"three", "third"},   {"five", "fifth"},
      {"eight", "eighth"}, {"nine", "ninth"}, {"twelve", "twelfth"}};
  std::string words = number_words(digits, " and ", " and ");
  const size_t begin = words.find_last_of(" -") + 1;  // npos + 1 is 0
  const std::string_view last = std::string_view(words).substr(begin);
  for (const auto& [cardinal_word, ordinal_word] : kIrregular) {
    if (last == cardinal_word) return words.replace(begin, std::string::npos, ordinal_word);
  }
  if (words.back() == 'y') return words.replace(words.size() - 1, 1, "ieth");
  return words += "th";
}

std::string remove_commas_in_numbers(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const std::string_view number = is_digit(text[i]) ? amount_at(text, i, ",") : "";
    if (number.size() >= 3) {
      result += without_commas(number);
      i += number.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string pounds_after_amounts(std::string_view text) {
  constexpr std::string_view kPound = "\u00a3";
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const bool sign = text.substr(i).starts_with(kPound);
    const std::string_view amount = sign ? amount_at(text, i + kPound.size(), ",") : "";
    if (!amount.empty()) {
      result += fmt::format("{} pounds", amount);
      i += kPound.size() + amount.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string dollars_and_cents(std::string_view amount) {
  if (std::ranges::count(amount, '.') > 1) return fmt::format("{} dollars", amount);
  const size_t point = std::min(amount.find('.'), amount.size());
  const std::string dollars = without_leading_zeros(without_commas(amount.substr(0, point)));
  const std::string cents =
      without_leading_zeros(without_commas(amount.substr(std::min(point + 1, amount.size()))));
  const auto counted = [](const std::string& n, std::string_view unit) {
    return fmt::format("{} {}{}", n, unit, n == "1" ? "" : "s");
  };
  if (dollars != "0" && cents != "0") {
    return fmt::format("{}, {}", counted(dollars, "dollar"), counted(cents, "cent"));
  }
  if (dollars != "0") return counted(dollars, "dollar");
  return cents != "0" ? counted(cents, "cent") : "zero dollars";
}

std::string dollars_after_amounts(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const std::string_view amount = text[i] == '$' ? amount_at(text, i + 1, ".,") : "";
    if (!amount.empty()) {
      result += dollars_and_cents(amount);
      i += 1 + amount.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

/// Calls `replace(digits, rest)` for each run of digits; it returns the words and how many bytes of
/// the rest it consumed, no words to leave the run unchanged.
template <typename Replace>
std::string for_each_number(std::string_view text, const Replace& replace) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      result += text[i++];
      continue;
    }
    const std::string_view digits = amount_at(text, i, "");
    i += digits.size();
    const std::pair<std::string, size_t> words = replace(digits, text.substr(i));
    result += words.first.empty() ? std::string(digits) : words.first;
    i += words.second;
  }
  return result;
}

}  // namespace

std::string numbers_to_words(std::string_view text) {
  using Words = std::pair<std::string, size_t>;
  std::string result = remove_commas_in_numbers(text);
  result = pounds_after_amounts(result);
  result = dollars_after_amounts(result);
  result = for_each_number(result, [](std::string_view digits, std::string_view rest) -> Words {
    if (rest.size() < 2 || rest[0] != '.' || !is_digit(rest[1])) return {};
    const std::string_view decimals = amount_at(rest, 1, "");
    return {fmt::format("{} point {}", digits, decimals), 1 + decimals.size()};
  });
  result = for_each_number(result, [](std::string_view digits, std::string_view rest) -> Words {
    const std::string_view suffix = rest.substr(0, 2);
    const bool known = suffix == "st" || suffix == "nd" || suffix == "rd" || suffix == "th";
    return known ? Words{ordinal(digits), 2} : Words{};
  });
  return for_each_number(result, [](std::string_view digits, std::string_view) -> Words {
    return {cardinal(digits), 0};
  });
}

}  // namespace predgen
