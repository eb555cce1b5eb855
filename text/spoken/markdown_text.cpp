#include "text/spoken/markdown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "text/sentence/block_marks.h"
#include "text/spoken/text_rules.h"
#include "text/utf8.h"

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

/// LaTeX formulas as text that a voice can read: delimiters are removed (`\(`, `$$`, `$` but not
/// that of "$5"), commands become their signs, words or nothing, "\frac{a}{b}" "a / b". Powers and
/// indices keep ^ and _. Other text is unchanged, and so are backslashes of file
/// paths, unless a folder has the name of a command.
std::string without_latex(std::string_view text) {
  static const TextRules brackets({{R"(\\[()\[\]]|\$\$)", " "}});
  static const Regex command(speech_pattern(
      R"(\\([dt]?frac|times|cdot|div|pm|leq?|geq?|neq?|approx|infty|sqrt|circ|mathrm|mathbf|mathbb|boxed|alpha|beta|gamma|delta|epsilon|theta|lambda|sigma|omega|Delta|Sigma|Omega)(?![A-Za-z])|\\(begin|end|text)\{|[\^_]\{)"));
  const std::string bare = without_dollars(brackets.apply(text));
  Regex::Match match;
  const bool is_formula = bare != text || command.find(bare, 0, match);
  return is_formula ? commands().apply(bare) : bare;
}

/// One line of markdown without the marks of links, images, emphasis, tags, formulas and code
/// spans. Remnants of marks cut off at the end of the line or sentence are also removed.
std::string markdown_inline(std::string_view line);

/// The words of links and images, without targets, footnotes and remnants of cut ones.
std::string without_links(std::string_view text) {
  static const Regex autolink(
      speech_pattern(R"((?i)<((https?|ftp|mailto):[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>)"));
  static const TextRules rules({
      {R"(!?\[(?=[^\[\]]*\](\(|\[)))", ""},  // [words](target "title"), [words][name]
      {R"(\]\([^()\s]*(\([^()\s]*\)[^()\s]*)?(\s+("[^"]*"|'[^']*'))?\))", ""},
      {R"(\]\[[^\[\]]*\])", ""},
      {R"(\[\^[^\[\]\s]+\]:?)", ""},  // footnotes
      {R"(\[[0-9]{1,3}\])", ""},      // citations
      {R"(!?(?<!\\)\[|(?<!\\)\])", ""},
  });
  return rules.apply(replace_each(autolink, text, [](std::string_view match, std::string_view) {
    return std::string(match.substr(1, match.size() - 2));
  }));
}

/// Tags, entities and marks of emphasis within a line. Code spans are hidden from it.
std::string without_inline_marks(std::string_view text) {
  static const TextRules rules({
      {R"(<!--.{0,1000}?-->)", ""},
      {R"((?i)</?(a|b|i|u|s|em|strong|code|pre|p|br|hr|div|span|sub|sup|ul|ol|li|h[1-6]|table|thead|tbody|tr|td|th|img|kbd|small|mark|details|summary|blockquote|center|font)(\s[^<>]*)?/?>)",
       " "},
      {R"((?i)</[a-z][a-z0-9_-]*\s*>)", " "},
      {R"((?i)(?<![a-z0-9])<[a-z][a-z0-9_-]*(\s+[a-z_:-]+=("[^"<>]*"|'[^'<>]*'|[^\s<>"']+))*\s*/?>)",
       " "},
      {R"(&nbsp;)", " "},
      {R"(&lt;)", "<"},
      {R"(&gt;)", ">"},
      {R"(&quot;)", "\""},
      {R"(&(#39|apos);)", "'"},
      {R"(&mdash;)", "\u2014"},
      {R"(&amp;)", "&"},
      {R"((?<=[0-9])\s?\*\s?(?=[0-9]))", " \u00d7 "},
      {R"(\\(?=[\\`*_{}\[\]()#+\-.!|~>$%&]))", ""},
      {R"(\*+)", ""},
      {R"(~~|==+)", ""},
      {R"((?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}]))", ""},
      {R"(_)", " "},
  });
  return rules.apply(text);
}

/// Mostly names, spoken as such: snake_case is split, call() loses its brackets.
std::string code_span(std::string_view code) {
  static const TextRules rules({{R"(\(\)|`+)", ""}, {R"(_+)", " "}});
  return rules.apply(trimmed(code, " \t"));
}

/// Code spans are hidden as private-use characters.
std::string markdown_inline(std::string_view line) {
  constexpr size_t kMaxSpans = 1000;
  const auto placeholder = [](size_t span) {
    const auto code = static_cast<unsigned>(0xE000 + span);
    return std::string{static_cast<char>(0xE0 | code >> 12),
                       static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                       static_cast<char>(0x80 | (code & 0x3F))};
  };
  std::vector<std::string> spans;
  std::string text;
  for (size_t i = 0; i < line.size();) {
    if (line[i] != '`') {
      text += line[i++];
      continue;
    }
    const size_t begin = std::min(line.find_first_not_of('`', i), line.size());
    const std::string_view quote = line.substr(i, begin - i);
    const size_t end = line.find(quote, begin);
    i = begin;
    if (end == std::string_view::npos || spans.size() == kMaxSpans) continue;  // half a span
    text += placeholder(spans.size());
    spans.push_back(code_span(line.substr(begin, end - begin)));
    i = end + quote.size();
  }
  text = without_inline_marks(without_latex(without_links(text)));
  for (size_t span = 0; span < spans.size(); ++span) {
    const size_t at = text.find(placeholder(span));
    if (at != std::string::npos) text.replace(at, 3, spans[span]);
  }
  return text;
}

constexpr std::string_view kLineBlank = " \t\r";

bool consists_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_rule(std::string_view line) {
  return std::ranges::any_of(std::string_view("-*_="), [&](char mark) {
    const std::string marks{mark, ' '};
    return consists_of(line, marks) && std::ranges::count(line, mark) >= 3;
  });
}

/// The cells of a table row, separated by commas.
std::string row_text(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const size_t bar = std::min(line.find('|'), line.size());
    const std::string_view cell = trimmed(line.substr(0, bar), kLineBlank);
    if (!cell.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", cell);
    line.remove_prefix(std::min(bar + 1, line.size()));
  }
  return text;
}

struct Line {
  std::string text;
  bool is_block = false;  // a heading, a list item, a row: not the middle of a sentence
};

/// [name]: address, which must not be spoken; "[Answer]: 42." is none.
bool is_link_definition(std::string_view line) {
  static const Regex definition(speech_pattern(
      R"((?<!.)\[[^\[\]^][^\[\]]*\]:\s*(<[^<>]*>|#\S+|\S*[/.][^\s.!?]\S*)(\s+"[^"]*")?\s*(?!.))"));
  Regex::Match match;
  return line.starts_with('[') && definition.find(line, 0, match);
}

Line read_line(std::string_view line) {
  static const Regex checkbox(speech_pattern(R"((?<!.)\[[ xX]\]\s)"));
  Line result;
  if (is_link_definition(line)) return {};
  if (is_rule(line)) return {.text = "", .is_block = true};
  if (line.find('|') != std::string_view::npos && consists_of(line, "|:- ")) return {};
  std::string number;  // of a list item
  while (true) {
    const BlockMark mark = block_mark_at({line, true}, 0);
    if (mark.length == 0) break;
    if (is_digit(line[0])) {
      number = fmt::format("{}. ", line.substr(0, line.find_first_of(".)")));
    }
    result.is_block |= line[0] != '>';
    line = trimmed(line.substr(mark.length), kLineBlank);
  }
  Regex::Match box;
  if (result.is_block && checkbox.find(line, 0, box))
    line = trimmed(line.substr(box.end), kLineBlank);
  const size_t hashes = std::min(line.find_first_not_of('#'), line.size());
  if (hashes >= 1 && hashes <= 6 && hashes < line.size() && line[hashes] == ' ') {
    line = trimmed(line.substr(hashes), kLineBlank);
    line = trimmed(line.substr(0, line.find_last_not_of('#') + 1), kLineBlank);
    result.is_block = true;
  }
  result.text = number + markdown_inline(line);
  const bool row = line.starts_with('|') || line.find(" | ") != std::string_view::npos;
  if (row) result.text = row_text(result.text);
  result.is_block |= row;
  return result;
}

/// Appends separated by a space; a mark precedes the beginning and the end of a block.
class RunningText {
 public:
  void add(std::string_view text, bool is_block) {
    text = trimmed(text, kLineBlank);
    if (is_block) end_clause();
    if (text.empty()) return;
    if (!text_.empty()) text_ += ' ';
    text_ += text;
    if (is_block) end_clause();
  }
  std::string take() { return std::move(text_); }

 private:
  void end_clause() {
    const size_t last = text_.find_last_not_of("\"')]");
    if (last == std::string::npos) return;
    const auto ends_with = [&](std::string_view mark) {
      return std::string_view(text_).substr(0, last + 1).ends_with(mark);
    };
    constexpr std::string_view kWide[] = {"\u2026", "\u3002", "\uff01", "\uff1f",
                                          "\uff0c", "\u3001", "\uff1a", "\uff1b"};
    if (std::string_view(".,;:!?").find(text_[last]) == std::string_view::npos &&
        std::ranges::none_of(kWide, ends_with)) {
      text_ += '.';
    }
  }

  std::string text_;
};

}  // namespace

std::string plain_text(std::string_view markdown, std::string_view code_phrase) {
  RunningText result;
  for (size_t begin = 0; begin < markdown.size();) {
    const OpenText whole{markdown, true};
    const Fence fence = fence_at(whole, begin);
    size_t end = std::min(markdown.find('\n', begin), markdown.size());
    if (fence.length > 0) {
      result.add(code_phrase, true);
      size_t line = fence.begin;
      end = *end_of_fenced_code(whole, fence, line);
    } else {
      const Line line = read_line(trimmed(markdown.substr(begin, end - begin), kLineBlank));
      result.add(line.text, line.is_block);
    }
    begin = std::max(end, begin) + 1;
  }
  return result.take();
}

}  // namespace predgen
