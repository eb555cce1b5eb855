#include "text/spoken/english_codes.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/characters.h"
#include "text/spoken/text_rules.h"

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

}  // namespace predgen
