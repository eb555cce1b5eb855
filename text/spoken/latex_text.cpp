#include "text/spoken/latex_text.h"

#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

/// $x + 1$ without its dollars. Text beginning with a digit is an amount unless it has a
/// mathematical sign.
std::string without_dollars(std::string_view text) {
  static const Regex formula(speech_pattern(
      R"((?<![\p{L}\p{N}\\])\$((?=[^\s$0-9])[^$\n]{0,300}|(?=[0-9(])[^$\n]{0,300}[\\^_={}][^$\n]{0,300})(?<=[^\s$])\$(?![0-9]))"));
  return replace_each(formula, text, [](std::string_view match, std::string_view) {
    return std::string(match.substr(1, match.size() - 2));
  });
}

const TextRules& commands() {
  static const TextRules rules({
      {R"(\\(begin|end)\{[a-z]*\*?\})", " "},
      {R"(\\[dt]?frac(?![a-z]))", ""},
      {R"(\}\s*\{)", " / "},
      {R"(\\times(?![a-z])|\\cdot(?![a-z]))", " \u00d7 "},
      {R"(\\div(?![a-z]))", " \u00f7 "},
      {R"(\\pm(?![a-z]))", " \u00b1 "},
      {R"(\\leq?(?![a-z]))", " \u2264 "},
      {R"(\\geq?(?![a-z]))", " \u2265 "},
      {R"(\\neq?(?![a-z]))", " \u2260 "},
      {R"(\\approx(?![a-z]))", " \u2248 "},
      {R"(\\infty(?![a-z]))", " \u221e "},
      {R"(\\sqrt(?![a-z]))", " \u221a "},
      {R"(\^\s*(\\circ(?![a-z])|\{\\circ\}))", "\u00b0"},
      {R"(\\(text|mathrm|mathbf|mathit|mathbb|operatorname|left|right|boxed|quad|qquad|displaystyle)(?![a-z]))",
       " "},
      {R"(\\(?=(alpha|beta|gamma|delta|epsilon|theta|lambda|mu|pi|rho|sigma|tau|phi|omega|Delta|Sigma|Omega|sin|cos|tan|log|ln|exp|lim|max|min|sum|prod|int|in|to)(?![A-Za-z])))",
       " "},
      {R"(\\[,;:!]|\\\\)", " "},
      {R"([{}])", ""},
  });
  return rules;
}

}  // namespace

std::string without_latex(std::string_view text) {
  static const TextRules brackets({{R"(\\[()\[\]]|\$\$)", " "}});
  static const Regex command(speech_pattern(
      R"(\\([dt]?frac|times|cdot|div|pm|leq?|geq?|neq?|approx|infty|sqrt|circ|mathrm|mathbf|mathbb|boxed|alpha|beta|gamma|delta|epsilon|theta|lambda|sigma|omega|Delta|Sigma|Omega)(?![A-Za-z])|\\(begin|end|text)\{|[\^_]\{)"));
  const std::string bare = without_dollars(brackets.apply(text));
  Regex::Match match;
  const bool is_formula = bare != text || command.find(bare, 0, match);
  return is_formula ? commands().apply(bare) : bare;
}

}  // namespace predgen
