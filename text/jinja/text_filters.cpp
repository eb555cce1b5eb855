// Filters that make text.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace predgen::jinja {

// textwrap.wrap().
namespace {

// TextWrapper.wordsep_re and wordsep_simple_re of Python 3.
constexpr const char* kWithHyphens =
    R"([\t\n\x0b\x0c\r ]+|(?<=[\w!"'&.,?])-{2,}(?=\w)|[^\t\n\x0b\x0c\r ]+?(?:)"
    R"(-(?:(?<=[^\d\W]{2}-)|(?<=[^\d\W]-[\w!"'&.,?]-))(?=[^\d\W]-?[^\d\W])|)"
    R"((?=[\t\n\x0b\x0c\r ]|\z)|(?<=[\w!"'&.,?])(?=-{2,}\w)))";
constexpr const char* kSimple = R"([\t\n\x0b\x0c\r ]+|[^\t\n\x0b\x0c\r ]+)";

struct Chunk {
  std::string_view text;
  size_t length;  // characters

  bool is_blank() const { return stripped(text, std::nullopt, true, false).empty(); }
};

std::vector<Chunk> chunks_of(std::string_view line, bool breaks_at_hyphens) {
  try {
    require_utf8(line, "wordwrap");
    const Regex regex(breaks_at_hyphens ? kWithHyphens : kSimple, Regex::Syntax::kPython,
                      "wordwrap");
    std::vector<Chunk> chunks;
    const auto add = [&](size_t begin, size_t end) {
      const std::string_view text = line.substr(begin, end - begin);
      if (!text.empty()) chunks.push_back({text, count_characters(text)});
    };
    size_t at = 0;
    for (Regex::Match match{}; regex.find(line, at, match); at = match.end) {
      add(at, match.begin);
      add(match.begin, match.end);
    }
    add(at, line.size());
    std::reverse(chunks.begin(), chunks.end());
    return chunks;
  } catch (const UserError& error) {
    throw Failure(error.what());
  }
}

/// Cuts `room` characters from a chunk that is longer than a line, if possible behind a hyphen.
std::string_view cut(Chunk& chunk, size_t room, bool breaks_at_hyphens) {
  size_t bytes = 0, characters = 0, behind_hyphen = 0, characters_behind = 0;
  bool has_other = false;
  while (characters < room && bytes < chunk.text.size()) {
    const bool is_hyphen = next_code(chunk.text, bytes) == '-';
    ++characters;
    if (is_hyphen && has_other) {
      behind_hyphen = bytes;
      characters_behind = characters;
    }
    has_other = has_other || !is_hyphen;
  }
  if (breaks_at_hyphens && behind_hyphen > 0) {
    bytes = behind_hyphen;
    characters = characters_behind;
  }
  const std::string_view part = chunk.text.substr(0, bytes);
  chunk.text.remove_prefix(bytes);
  chunk.length -= characters;
  return part;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view line, size_t width, bool breaks_words,
                                 bool breaks_at_hyphens) {
  std::vector<Chunk> chunks = chunks_of(line, breaks_at_hyphens);
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    if (chunks.back().is_blank() && !lines.empty()) {
      chunks.pop_back();
      if (chunks.empty()) break;
    }
    std::vector<Chunk> current;
    size_t length = 0;
    while (!chunks.empty() && length + chunks.back().length <= width) {
      length += chunks.back().length;
      current.push_back(chunks.back());
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().length > width) {
      if (breaks_words) {
        const std::string_view part = cut(chunks.back(), width - length, breaks_at_hyphens);
        current.push_back({part, count_characters(part)});
        if (chunks.back().text.empty()) chunks.pop_back();
      } else if (current.empty()) {
        current.push_back(chunks.back());
        chunks.pop_back();
      }
    }
    if (!current.empty() && current.back().is_blank()) current.pop_back();
    std::string text;
    for (const Chunk& chunk : current) text += chunk.text;
    if (!current.empty()) lines.push_back(std::move(text));
  }
  return lines;
}

namespace {

using A = const Arguments&;

/// Applies a function of texts to str(value).
template <typename Change>
Value changed(Runtime& runtime, const Value& value, const char* name, A arguments,
              const Change& change) {
  bound(name, arguments, {});
  const std::string text = soft_text(runtime, value);
  runtime.budget.write(2 * text.size());
  return runtime.text(change(text), value.is_text() && value.text_object().is_safe);
}

const std::string& text_of(std::string_view function, const Value& value) {
  if (!value.is_text()) fail_type(function, value);
  return value.text();
}

/// The filter's title, which begins words otherwise than str.title().
std::string titled(std::string_view text) {
  const auto begins_word = [](char32_t code) {
    return std::u32string_view(U"-({[<").find(code) != std::u32string_view::npos ||
           is_space_code(code);
  };
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    size_t next = at;
    const bool is_gap = begins_word(next_code(text, next));
    const size_t first = next;
    while (end < text.size()) {
      next = end;
      if (begins_word(next_code(text, next)) != is_gap) break;
      end = next;
    }
    result += upper(text.substr(at, first - at)) + lower(text.substr(first, end - first));
    at = end;
  }
  return result;
}

Value trimmed(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given = bound("trim", arguments, {"chars"});
  const std::string text = soft_text(runtime, value);
  std::optional<std::string_view> chars;
  if (is_given(given[0]) && !given[0].is_none()) chars = text_of("trim", given[0]);
  runtime.budget.read(text.size() * (1 + (chars ? chars->size() : 0)));
  return runtime.text(std::string(stripped(text, chars, true, true)));
}

Value replaced_all(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given = bound("replace", arguments, {"old", "new", "count"}, 2);
  const bool has_count = is_given(given[2]) && !given[2].is_none();
  return runtime.text(replaced(runtime.budget, printed(runtime, value), printed(runtime, given[0]),
                               printed(runtime, given[1]),
                               has_count ? whole_number(given[2], "replace") : -1));
}

Value indented(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given = bound("indent", arguments, {"width", "first", "blank"});
  const std::string text = text_of("indent", value) + "\n";
  std::string indent(4, ' ');
  if (given[0].is_text()) {
    indent = given[0].text();
  } else if (is_given(given[0])) {
    const int64_t width = std::max<int64_t>(0, whole_number(given[0], "indent"));
    runtime.budget.write(static_cast<size_t>(width));
    indent.assign(static_cast<size_t>(width), ' ');
  }
  const bool all = is_true(runtime, given[2]);
  const std::vector<std::string_view> lines = split_lines(text, false);
  runtime.budget.write(text.size());
  runtime.budget.write_times(lines.size(), indent.size());
  std::string result = is_true(runtime, given[1]) ? indent : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += "\n";
    if (i > 0 && (all || !lines[i].empty())) result += indent;
    result += lines[i];
  }
  return runtime.text(std::move(result));
}

Value centered(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given = bound("center", arguments, {"width"});
  Arguments more{.positional = {is_given(given[0]) ? given[0] : Value::integer(80)}};
  return text_methods().at("center")(runtime, runtime.text(soft_text(runtime, value)), more);
}

Value truncated(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given =
      bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const auto number = [&](const Value& one, int64_t otherwise) {
    return is_given(one) && !one.is_none() ? whole_number(one, "truncate") : otherwise;
  };
  const int64_t length = number(given[0], 255), leeway = number(given[3], 5);
  const Value end = is_given(given[2]) ? given[2] : runtime.text("...");
  const auto end_length = static_cast<int64_t>(length_of(runtime, end));
  if (length < end_length || leeway < 0) throw Failure("truncate: the length is too short");
  if (static_cast<int64_t>(length_of(runtime, value)) <= length + leeway) return value;
  if (!value.is_text()) fail_type("truncate", value);
  const Text& text = value.text_object();
  const std::string_view cut = std::string_view(text.text).substr(
      0, byte_of(text, static_cast<size_t>(length - end_length)));
  const std::string_view kept =
      is_true(runtime, given[1]) ? cut : cut.substr(0, std::min(cut.rfind(' '), cut.size()));
  return runtime.text(std::string(kept) + text_of("truncate", end));
}

Value word_wrapped(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given =
      bound("wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const int64_t width = is_given(given[0]) ? whole_number(given[0], "wordwrap") : 79;
  if (width <= 0) throw Failure("wordwrap: the width is not positive");
  const bool has_break = is_given(given[2]) && !given[2].is_none();
  const std::string line_break = has_break ? text_of("wordwrap", given[2]) : "\n";
  const auto flag = [&](const Value& one) { return !is_given(one) || is_true(runtime, one); };
  std::string result;
  bool is_first = true;
  for (const std::string_view line : split_lines(text_of("wordwrap", value), false)) {
    runtime.budget.read(64 * line.size());
    if (!is_first) runtime.budget.append(result, line_break);
    is_first = false;
    bool is_first_part = true;
    for (const std::string& part :
         wrapped(line, static_cast<size_t>(width), flag(given[1]), flag(given[3]))) {
      if (!is_first_part) runtime.budget.append(result, line_break);
      is_first_part = false;
      runtime.budget.append(result, part);
    }
  }
  return runtime.text(std::move(result));
}

Value word_count(Runtime& runtime, const Value& value, A arguments) {
  bound("wordcount", arguments, {});
  const std::string text = soft_text(runtime, value);
  Int count = 0;
  bool is_in_word = false;
  for (size_t at = 0; at < text.size();) {
    const bool is_part = is_word(next_code(text, at));
    if (is_part && !is_in_word) ++count;
    is_in_word = is_part;
  }
  return Value::integer(count);
}

Value with_format(Runtime& runtime, const Value& value, A arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    throw Failure("format takes arguments with or without names, not both");
  }
  const std::string format = soft_text(runtime, value);
  if (arguments.named.empty()) {
    return runtime.text(percent_format(runtime, format, runtime.tuple(arguments.positional)));
  }
  std::vector<std::pair<Value, Value>> pairs;
  for (const auto& [name, one] : arguments.named) pairs.emplace_back(runtime.text(name), one);
  return runtime.text(percent_format(runtime, format, runtime.dict(std::move(pairs))));
}

Value to_json(Runtime& runtime, const Value& value, A arguments) {
  const std::vector<Value> given =
      bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style{.is_ascii = is_true(runtime, given[0]),
                  .has_sorted_keys = is_true(runtime, given[3])};
  if (is_given(given[1]) && !given[1].is_none()) {
    style.has_indent = true;
    style.item_separator = ",";
    if (given[1].is_text()) {
      style.indent = given[1].text();
    } else {
      const int64_t width = std::max<int64_t>(0, whole_number(given[1], "tojson"));
      runtime.budget.write(static_cast<size_t>(width));
      style.indent.assign(static_cast<size_t>(width), ' ');
    }
  }
  if (is_given(given[2]) && !given[2].is_none()) {
    const std::vector<Value> separators = all_items(runtime, given[2]);
    if (separators.size() != 2) throw Failure("tojson: separators are two texts");
    style.item_separator = text_of("tojson", separators[0]);
    style.key_separator = text_of("tojson", separators[1]);
  }
  return runtime.text(json_text(runtime, value, style));
}

/// pprint.pformat() of what fits one line.
Value pretty(Runtime& runtime, const Value& value, A arguments) {
  bound("pprint", arguments, {});
  std::string text = represented(runtime, value);
  if (text.size() > 80) throw Failure("pprint of more than one line is not supported");
  if (text.find('{') != std::string::npos) throw Failure("pprint of objects is not supported");
  return runtime.text(std::move(text));
}

}  // namespace

const Methods& text_filters() {
  using V = const Value&;
  static const Methods filters = {
      {"upper", [](Runtime& r, V v, A a) { return changed(r, v, "upper", a, upper); }},
      {"lower", [](Runtime& r, V v, A a) { return changed(r, v, "lower", a, lower); }},
      {"capitalize",
       [](Runtime& r, V v, A a) { return changed(r, v, "capitalize", a, capitalized); }},
      {"title", [](Runtime& r, V v, A a) { return changed(r, v, "title", a, titled); }},
      {"string",
       [](Runtime& r, V v, A a) {
         bound("string", a, {});
         return v.is_text() ? v : r.text(printed(r, v));
       }},
      {"trim", trimmed},
      {"replace", replaced_all},
      {"indent", indented},
      {"center", centered},
      {"truncate", truncated},
      {"wordwrap", word_wrapped},
      {"wordcount", word_count},
      {"format", with_format},
      {"tojson", to_json},
      {"pprint", pretty}};
  return filters;
}

}  // namespace predgen::jinja
