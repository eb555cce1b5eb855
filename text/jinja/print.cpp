// str(), repr() and json.dumps().
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {

// How Python and JSON write texts and numbers.

std::string quoted_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      result += '\\';
      result += static_cast<char>(code);
    } else if (code == '\n') {
      result += "\\n";
    } else if (code == '\r') {
      result += "\\r";
    } else if (code == '\t') {
      result += "\\t";
    } else if (is_printable(code)) {
      result += text.substr(begin, at - begin);
    } else if (code <= 0xFF) {
      result += fmt::format("\\x{:02x}", static_cast<uint32_t>(code));
    } else if (code <= 0xFFFF) {
      result += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    } else {
      result += fmt::format("\\U{:08x}", static_cast<uint32_t>(code));
    }
  }
  return result + quote;
}

std::string json_quoted(std::string_view text, bool is_ascii) {
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    constexpr std::string_view kNamed = "\"\\\n\r\t\f\b", kNames = "\"\\nrtfb";
    const size_t named =
        code < 0x80 ? kNamed.find(static_cast<char>(code)) : std::string_view::npos;
    if (named != std::string_view::npos) {
      result += '\\';
      result += kNames[named];
    } else if (code >= 0x20 && (code < 0x80 || code == kHidden || !is_ascii)) {
      result += text.substr(begin, at - begin);
    } else if (code <= 0xFFFF) {
      result += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    } else {
      const uint32_t pair = static_cast<uint32_t>(code) - 0x10000;
      result += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (pair >> 10), 0xDC00 + (pair & 0x3FF));
    }
  }
  return result + '"';
}

std::string printed_float(double number, bool is_json) {
  if (std::isnan(number)) return is_json ? "NaN" : "nan";
  if (std::isinf(number)) {
    return std::string(number > 0 ? "" : "-") + (is_json ? "Infinity" : "inf");
  }
  std::array<char, 64> buffer{};
  char* const end = buffer.data() + buffer.size();
  const auto written = std::to_chars(buffer.data(), end, number, std::chars_format::scientific);
  std::string whole(buffer.data(), written.ptr);
  const int exponent = std::atoi(whole.c_str() + whole.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return whole;  // both write an exponent of two digits
  const auto fixed = std::to_chars(buffer.data(), end, number, std::chars_format::fixed);
  std::string text(buffer.data(), fixed.ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

namespace {

class Writer {
 public:
  explicit Writer(Budget& budget) : budget_(budget) {}

  void add(std::string_view text) { budget_.append(text_, text); }
  std::string take() { return std::move(text_); }

 private:
  Budget& budget_;
  std::string text_;
};

void represent(Runtime& runtime, Writer& out, const Value& value);

void represent_items(Runtime& runtime, Writer& out, const std::vector<Value>& items) {
  bool is_first = true;
  for (const Value& item : items) {
    if (!std::exchange(is_first, false)) out.add(", ");
    represent(runtime, out, item);
  }
}

void represent_pairs(Runtime& runtime, Writer& out, const auto& pairs, const auto& add_key) {
  bool is_first = true;
  out.add("{");
  for (const auto& [key, item] : pairs) {
    if (!std::exchange(is_first, false)) out.add(", ");
    add_key(key);
    out.add(": ");
    represent(runtime, out, item);
  }
  out.add("}");
}

void represent_view(Runtime& runtime, Writer& out, const Value& value) {
  constexpr const char* kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
  out.add(kNames[static_cast<size_t>(value.view().of)]);
  represent_items(runtime, out, all_items(runtime, value));
  out.add("])");
}

void represent(Runtime& runtime, Writer& out, const Value& value) {
  const Budget::Nested nested(runtime.budget);
  switch (value.kind()) {
    case Kind::kUndefined:
      return out.add("Undefined");
    case Kind::kNone:
      return out.add("None");
    case Kind::kBool:
      return out.add(value.whole() != 0 ? "True" : "False");
    case Kind::kInt:
      return out.add(printed_whole(value.whole()));
    case Kind::kFloat:
      return out.add(printed_float(value.number()));
    case Kind::kText:
      runtime.budget.write(4 * value.text().size());
      if (!value.text_object().is_safe) return out.add(quoted_text(value.text()));
      return out.add(fmt::format("Markup({})", quoted_text(value.text())));
    case Kind::kList:
      out.add("[");
      represent_items(runtime, out, value.items());
      return out.add("]");
    case Kind::kTuple:
      out.add("(");
      represent_items(runtime, out, value.items());
      return out.add(value.items().size() == 1 ? ",)" : ")");
    case Kind::kDict:
      return represent_pairs(runtime, out, value.dict().items,
                             [&](const Value& key) { represent(runtime, out, key); });
    case Kind::kRange: {
      const Range& range = value.range();
      const std::string step = range.step == 1 ? "" : ", " + printed_whole(range.step);
      return out.add(fmt::format("range({}, {}{})", printed_whole(range.start),
                                 printed_whole(range.stop), step));
    }
    case Kind::kView:
      return represent_view(runtime, out, value);
    case Kind::kNamespace:
      out.add("<Namespace ");
      represent_pairs(runtime, out, value.name_space().attributes,
                      [&](const std::string& key) { out.add(quoted_text(key)); });
      return out.add(">");
    case Kind::kIterator:
      throw Failure("a generator cannot be printed: add \"| list\"");
    case Kind::kCustom:
      if (!value.custom().printed.starts_with('<')) {
        throw Failure(fmt::format("the function \"{}\" cannot be printed", value.custom().printed));
      }
      return out.add(value.custom().printed);
  }
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style)
      : runtime_(runtime), style_(style), out_(runtime.budget) {}

  std::string take() { return out_.take(); }

  void write(const Value& value, size_t level) {
    const Budget::Nested nested(runtime_.budget);
    switch (value.kind()) {
      case Kind::kNone:
        return out_.add("null");
      case Kind::kBool:
        return out_.add(value.whole() != 0 ? "true" : "false");
      case Kind::kInt:
        return out_.add(printed_whole(value.whole()));
      case Kind::kFloat:
        return out_.add(printed_float(value.number(), /*is_json=*/true));
      case Kind::kText:
        runtime_.budget.write(value.text().size());
        return out_.add(json_quoted(value.text(), style_.is_ascii));
      case Kind::kList:
      case Kind::kTuple:
        return write_all(value.items(), level, "[", "]",
                         [&](const Value& item) { write(item, level + 1); });
      case Kind::kDict:
        return write_dict(value.dict(), level);
      default:
        fail_type("tojson", value);
    }
  }

 private:
  void break_line(size_t level) {
    if (!style_.has_indent) return;
    out_.add("\n");
    for (size_t i = 0; i < level; ++i) out_.add(style_.indent);
  }

  void write_all(const auto& items, size_t level, const char* open, const char* close,
                 const auto& write_one) {
    out_.add(open);
    bool is_first = true;
    for (const auto& item : items) {
      if (!std::exchange(is_first, false)) out_.add(style_.item_separator);
      break_line(level + 1);
      write_one(item);
    }
    if (!items.empty()) break_line(level);
    out_.add(close);
  }

  std::string key_text(const Value& key) const {
    switch (key.kind()) {
      case Kind::kText:
        return key.text();
      case Kind::kNone:
        return "null";
      case Kind::kBool:
        return key.whole() != 0 ? "true" : "false";
      case Kind::kInt:
        return printed_whole(key.whole());
      case Kind::kFloat:
        return printed_float(key.number(), /*is_json=*/true);
      default:
        fail_type("a key of tojson", key);
    }
  }

  void write_dict(const Dict& dict, size_t level) {
    auto items = dict.items;
    if (style_.has_sorted_keys) {
      std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
        return compare(runtime_, a.first, b.first) < 0;
      });
    }
    write_all(items, level, "{", "}", [&](const auto& item) {
      const std::string key = key_text(item.first);
      runtime_.budget.write(key.size());
      out_.add(json_quoted(key, style_.is_ascii));
      out_.add(style_.key_separator);
      write(item.second, level + 1);
    });
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  Writer out_;
};

}  // namespace

std::string printed_whole(Int value) {
  std::string digits;
  const bool is_negative = value < 0;
  do {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (is_negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string printed(Runtime& runtime, const Value& value) {
  if (value.is_undefined()) return {};
  if (value.is_text()) {
    runtime.budget.read(value.text().size());
    return value.text();
  }
  return represented(runtime, value);
}

std::string represented(Runtime& runtime, const Value& value) {
  Writer out(runtime.budget);
  represent(runtime, out, value);
  return out.take();
}

std::string json_text(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace predgen::jinja
