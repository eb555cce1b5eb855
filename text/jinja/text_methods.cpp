// Methods of texts.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

using A = const Arguments&;
using V = const Value&;

const std::string& text_argument(std::string_view method, const Value& value) {
  if (!value.is_text()) fail_type(fmt::format("str.{}()", method), value);
  return value.text();
}

/// What start and end of find(), count(), startswith() and the like leave of a text.
struct Part {
  std::string_view text;
  size_t begin = 0;  // in bytes
  bool is_valid = true;
};

Part part_of(Runtime& runtime, const Text& text, V start, V end) {
  const auto size = static_cast<int64_t>(text.num_characters);
  const auto place = [&](V value, int64_t otherwise) {
    if (!is_given(value) || value.is_none()) return otherwise;
    const int64_t at = whole_number(value, "a position");
    return at < 0 ? std::max<int64_t>(at + size, 0) : at;
  };
  runtime.budget.read(text.text.size());
  const int64_t from = place(start, 0), to = std::min(place(end, size), size);
  if (from > to) return {.text = "", .begin = 0, .is_valid = false};
  const size_t begin = byte_of(text, static_cast<size_t>(from));
  const size_t stop = byte_of(text, static_cast<size_t>(to));
  return {.text = std::string_view(text.text).substr(begin, stop - begin), .begin = begin};
}

Value place_in(Runtime& runtime, V self, A arguments, const char* name, bool is_first,
               bool must_be) {
  const auto given = bound(name, arguments, {"sub", "start", "end"}, 1);
  const std::string& sub = text_argument(name, given[0]);
  const Part part = part_of(runtime, self.text_object(), given[1], given[2]);
  runtime.budget.read(part.text.size() + sub.size());
  const size_t at = !part.is_valid ? std::string_view::npos
                    : is_first     ? find_text(part.text, sub, 0)
                                   : find_last_text(part.text, sub);
  if (at != std::string_view::npos) {
    return Value::integer(static_cast<Int>(character_of(self.text_object(), part.begin + at)));
  }
  if (must_be) throw Failure("the text is not found");
  return Value::integer(-1);
}

Value count_of(Runtime& runtime, V self, A arguments) {
  const auto given = bound("count", arguments, {"sub", "start", "end"}, 1);
  const std::string& sub = text_argument("count", given[0]);
  const Part part = part_of(runtime, self.text_object(), given[1], given[2]);
  if (!part.is_valid) return Value::integer(0);
  if (sub.empty()) {
    const size_t places = count_characters(part.text) + 1;
    return Value::integer(static_cast<Int>(places));
  }
  Int count = 0;
  for (size_t at = find_text(part.text, sub, 0); at != std::string_view::npos;
       at = find_text(part.text, sub, at + sub.size())) {
    runtime.budget.step();
    ++count;
  }
  return Value::integer(count);
}

Value begins_or_ends(Runtime& runtime, V self, A arguments, bool begins) {
  const char* name = begins ? "startswith" : "endswith";
  const auto given = bound(name, arguments, {"prefix", "start", "end"}, 1);
  const Part part = part_of(runtime, self.text_object(), given[1], given[2]);
  const auto holds = [&](V wanted) {
    const std::string& text = text_argument(name, wanted);
    runtime.budget.read(text.size());
    return part.is_valid && (begins ? part.text.starts_with(text) : part.text.ends_with(text));
  };
  if (!given[0].is(Kind::kTuple)) return Value::boolean(holds(given[0]));
  const auto& all = given[0].items();
  return Value::boolean(std::any_of(all.begin(), all.end(), holds));
}

Value strip_of(Runtime& runtime, V self, A arguments, const char* name, bool left, bool right) {
  const auto given = bound(name, arguments, {"chars"});
  std::optional<std::string_view> chars;
  if (is_given(given[0]) && !given[0].is_none()) chars = text_argument(name, given[0]);
  runtime.budget.read(self.text().size() * (1 + (chars ? chars->size() : 0)));
  return runtime.text(std::string(stripped(self.text(), chars, left, right)));
}

Value list_of(Runtime& runtime, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(runtime.text(std::string(part)));
  return runtime.list(std::move(items));
}

Value split_of(Runtime& runtime, V self, A arguments, bool from_right) {
  const char* name = from_right ? "rsplit" : "split";
  const auto given = bound(name, arguments, {"sep", "maxsplit"});
  std::optional<std::string_view> separator;
  if (is_given(given[0]) && !given[0].is_none()) separator = text_argument(name, given[0]);
  const int64_t most = is_given(given[1]) ? whole_number(given[1], name) : -1;
  return list_of(runtime, split(runtime.budget, self.text(), separator, most, from_right));
}

Value partition_of(Runtime& runtime, V self, A arguments, bool is_first) {
  const auto given = bound("partition", arguments, {"sep"}, 1);
  const std::string& separator = text_argument("partition", given[0]);
  if (separator.empty()) throw Failure("partition: the separator is empty");
  const std::string_view text = self.text();
  runtime.budget.read(text.size());
  const size_t at = is_first ? find_text(text, separator, 0) : find_last_text(text, separator);
  const auto made = [&](std::string_view part) { return runtime.text(std::string(part)); };
  if (at == std::string_view::npos) {
    return is_first ? runtime.tuple({self, made(""), made("")})
                    : runtime.tuple({made(""), made(""), self});
  }
  return runtime.tuple(
      {made(text.substr(0, at)), given[0], made(text.substr(at + separator.size()))});
}

Value lines_of(Runtime& runtime, V self, A arguments) {
  const auto given = bound("splitlines", arguments, {"keepends"});
  runtime.budget.read(self.text().size());
  return list_of(runtime, split_lines(self.text(), is_true(runtime, given[0])));
}

Value join_of(Runtime& runtime, V self, A arguments) {
  const auto given = bound("join", arguments, {"iterable"}, 1);
  std::string result;
  bool is_first = true;
  for (const Value& item : all_items(runtime, given[0])) {
    if (!is_first) runtime.budget.append(result, self.text());
    is_first = false;
    runtime.budget.append(result, text_argument("join", item));
  }
  return runtime.text(std::move(result));
}

Value replace_of(Runtime& runtime, V self, A arguments) {
  const auto given = bound("replace", arguments, {"old", "new", "count"}, 2);
  const int64_t most = is_given(given[2]) ? whole_number(given[2], "replace") : -1;
  return runtime.text(replaced(runtime.budget, self.text(), text_argument("replace", given[0]),
                               text_argument("replace", given[1]), most));
}

Value without_affix(Runtime& runtime, V self, A arguments, bool is_prefix) {
  const char* name = is_prefix ? "removeprefix" : "removesuffix";
  const auto given = bound(name, arguments, {"affix"}, 1);
  const std::string_view affix = text_argument(name, given[0]);
  std::string_view text = self.text();
  if (is_prefix && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!is_prefix && text.ends_with(affix)) text.remove_suffix(affix.size());
  return runtime.text(std::string(text));
}

enum class Side { kLeft, kRight, kBoth };

/// ljust(), rjust() and center().
Value filled(Runtime& runtime, V self, A arguments, Side text_side) {
  const auto given = bound("a width", arguments, {"width", "fillchar"}, 1);
  const int64_t width = whole_number(given[0], "a width");
  const std::string fill = is_given(given[1]) ? text_argument("center", given[1]) : " ";
  if (count_characters(fill) != 1) throw Failure("a fill character is one character");
  const auto size = static_cast<int64_t>(self.text_object().num_characters);
  if (width <= size) return self;
  const auto missing = static_cast<size_t>(width - size);
  runtime.budget.write_times(missing, fill.size());
  const size_t left = text_side == Side::kLeft    ? 0
                      : text_side == Side::kRight ? missing
                                                  : missing / 2 + (missing & width & 1);
  std::string result;
  for (size_t i = 0; i < left; ++i) result += fill;
  result += self.text();
  for (size_t i = left; i < missing; ++i) result += fill;
  return runtime.text(std::move(result));
}

Value zero_filled(Runtime& runtime, V self, A arguments) {
  const auto given = bound("zfill", arguments, {"width"}, 1);
  const int64_t width = whole_number(given[0], "zfill");
  const auto size = static_cast<int64_t>(self.text_object().num_characters);
  if (width <= size) return self;
  runtime.budget.write(static_cast<size_t>(width));
  std::string result = self.text();
  const bool has_sign = result.starts_with('-') || result.starts_with('+');
  result.insert(has_sign ? 1 : 0, static_cast<size_t>(width - size), '0');
  return runtime.text(std::move(result));
}

Value tabs_expanded(Runtime& runtime, V self, A arguments) {
  const auto given = bound("expandtabs", arguments, {"tabsize"});
  const int64_t size = is_given(given[0]) ? whole_number(given[0], "expandtabs") : 8;
  std::string result;
  int64_t column = 0;
  const std::string_view text = self.text();
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    if (code == '\t') {
      const int64_t blanks = size > 0 ? size - column % size : 0;
      runtime.budget.write_times(static_cast<size_t>(blanks), 1);
      runtime.budget.append(result, std::string(static_cast<size_t>(blanks), ' '));
      column += blanks;
      continue;
    }
    result += text.substr(begin, at - begin);
    column = code == '\n' || code == '\r' ? 0 : column + 1;
  }
  return runtime.text(std::move(result));
}

/// A method without arguments that changes the text.
template <std::string (*kChange)(std::string_view)>
Value changed_text(Runtime& runtime, V self, A arguments) {
  bound("a method of a text", arguments, {});
  runtime.budget.write(2 * self.text().size());
  return runtime.text(kChange(self.text()));
}

Value format_of(Runtime& runtime, V self, A arguments) {
  return runtime.text(brace_format(runtime, self.text(), arguments));
}

Value format_map_of(Runtime& runtime, V self, A arguments) {
  const auto given = bound("format_map", arguments, {"mapping"}, 1);
  if (!given[0].is(Kind::kDict)) fail_type("format_map", given[0]);
  Arguments named;
  for (const auto& [key, value] : given[0].dict().items) {
    if (key.is_text()) named.named.emplace_back(key.text(), value);
  }
  return runtime.text(brace_format(runtime, self.text(), named));
}

}  // namespace

const Methods& text_methods() {
  static const Methods methods = {
      {"upper", changed_text<upper>},
      {"lower", changed_text<lower>},
      {"title", changed_text<title>},
      {"capitalize", changed_text<capitalized>},
      {"swapcase", changed_text<swapped_case>},
      {"casefold", changed_text<folded_case>},
      {"find", [](Runtime& r, V s, A a) { return place_in(r, s, a, "find", true, false); }},
      {"rfind", [](Runtime& r, V s, A a) { return place_in(r, s, a, "rfind", false, false); }},
      {"index", [](Runtime& r, V s, A a) { return place_in(r, s, a, "index", true, true); }},
      {"rindex", [](Runtime& r, V s, A a) { return place_in(r, s, a, "rindex", false, true); }},
      {"count", count_of},
      {"startswith", [](Runtime& r, V s, A a) { return begins_or_ends(r, s, a, true); }},
      {"endswith", [](Runtime& r, V s, A a) { return begins_or_ends(r, s, a, false); }},
      {"strip", [](Runtime& r, V s, A a) { return strip_of(r, s, a, "strip", true, true); }},
      {"lstrip", [](Runtime& r, V s, A a) { return strip_of(r, s, a, "lstrip", true, false); }},
      {"rstrip", [](Runtime& r, V s, A a) { return strip_of(r, s, a, "rstrip", false, true); }},
      {"split", [](Runtime& r, V s, A a) { return split_of(r, s, a, false); }},
      {"rsplit", [](Runtime& r, V s, A a) { return split_of(r, s, a, true); }},
      {"partition", [](Runtime& r, V s, A a) { return partition_of(r, s, a, true); }},
      {"rpartition", [](Runtime& r, V s, A a) { return partition_of(r, s, a, false); }},
      {"splitlines", lines_of},
      {"join", join_of},
      {"replace", replace_of},
      {"removeprefix", [](Runtime& r, V s, A a) { return without_affix(r, s, a, true); }},
      {"removesuffix", [](Runtime& r, V s, A a) { return without_affix(r, s, a, false); }},
      {"ljust", [](Runtime& r, V s, A a) { return filled(r, s, a, Side::kLeft); }},
      {"rjust", [](Runtime& r, V s, A a) { return filled(r, s, a, Side::kRight); }},
      {"center", [](Runtime& r, V s, A a) { return filled(r, s, a, Side::kBoth); }},
      {"zfill", zero_filled},
      {"expandtabs", tabs_expanded},
      {"format", format_of},
      {"format_map", format_map_of}};
  return methods;
}

}  // namespace predgen::jinja
