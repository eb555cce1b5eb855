#include "text/spoken/markdown_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "text/characters.h"
#include "text/sentence/block_marks.h"
#include "text/sentence/fenced_code.h"
#include "text/spoken/markdown_inline.h"
#include "text/spoken/text_rules.h"

namespace predgen {
namespace {

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
