// Methods of all values, and what str.isalpha() and its kin say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

using A = const Arguments&;
using V = const Value&;

/// Whether all characters of a text, which has some, are of a kind.
template <bool (*kIs)(char32_t)>
Value all_are(Runtime&, V self, A arguments) {
  bound("a method of a text", arguments, {});
  const std::string_view text = self.text();
  bool holds = !text.empty();
  for (size_t at = 0; holds && at < text.size();) holds = kIs(next_code(text, at));
  return Value::boolean(holds);
}

bool is_letter_or_number(char32_t code) {
  return is_alphabetic(code) || is_decimal(code) || is_digit_code(code) || is_numeric(code);
}

Value is_in_case(Runtime& runtime, V self, A arguments, const char* name) {
  bound("a method of a text", arguments, {});
  return Value::boolean(test(runtime, name, self, {}));
}

Value is_title_text(Runtime&, V self, A arguments) {
  bound("istitle", arguments, {});
  bool has_any = false, is_behind_letter = false;
  for (size_t at = 0; at < self.text().size();) {
    const char32_t code = next_code(self.text(), at);
    const bool is_big = is_upper_code(code) || is_title_code(code);
    if (is_behind_letter ? is_big : is_lower_code(code)) return Value::boolean(false);
    is_behind_letter = is_big || is_lower_code(code);
    has_any = has_any || is_behind_letter;
  }
  return Value::boolean(has_any);
}

Value is_identifier(Runtime&, V self, A arguments) {
  bound("isidentifier", arguments, {});
  size_t at = 0;
  bool holds = !self.text().empty();
  while (holds && at < self.text().size()) {
    const bool is_first = at == 0;
    const char32_t code = next_code(self.text(), at);
    holds = is_word(code) && !(is_first && is_numeric(code) && !is_alphabetic(code));
  }
  return Value::boolean(holds);
}

bool is_ascii_code(char32_t code) { return code < 0x80; }

Value get_item(Runtime& runtime, V self, A arguments) {
  const auto given = bound("get", arguments, {"key", "default"}, 1);
  if (const Value* found = self.dict().find(runtime, given[0])) return *found;
  return is_given(given[1]) ? given[1] : Value::none();
}

template <View::Of kOf>
Value view_of(Runtime&, V self, A arguments) {
  bound("a method of a dict", arguments, {});
  return {Kind::kView, std::make_shared<View>(self, kOf)};
}

Value itself(Runtime&, V self, A arguments) {
  bound("copy", arguments, {});
  return self;
}

Value count_items(Runtime& runtime, V self, A arguments) {
  const auto given = bound("count", arguments, {"value"}, 1);
  const std::vector<Value> items = all_items(runtime, self);
  return Value::integer(std::count_if(items.begin(), items.end(),
                                      [&](V item) { return equals(runtime, item, given[0]); }));
}

Value index_of(Runtime& runtime, V self, A arguments) {
  const auto given = bound("index", arguments, {"value", "start", "stop"}, 1);
  const std::vector<Value> items = all_items(runtime, self);
  const auto size = static_cast<int64_t>(items.size());
  const auto place = [&](V value, int64_t otherwise) {
    if (!is_given(value)) return otherwise;
    const int64_t at = whole_number(value, "index");
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  for (int64_t i = place(given[1], 0); i < place(given[2], size); ++i) {
    if (equals(runtime, items[static_cast<size_t>(i)], given[0])) return Value::integer(i);
  }
  throw Failure("index: the value is not in the list");
}

Value bit_length(Runtime&, V self, A arguments) {
  bound("bit_length", arguments, {});
  Int rest = self.whole();
  int bits = 0;
  for (; rest != 0; rest /= 2) ++bits;
  return Value::integer(bits);
}

Value is_whole_float(Runtime&, V self, A arguments) {
  bound("is_integer", arguments, {});
  return Value::boolean(std::isfinite(self.number()) && std::floor(self.number()) == self.number());
}

using Names = std::vector<std::string_view>;

/// What values of a kind can do, what they could do in Python, and what the sandbox forbids.
struct Abilities {
  std::vector<const Methods*> methods;
  Names unsupported{}, forbidden{};
};

Abilities abilities_of(Kind kind) {
  static const Methods dict = {{"get", get_item},
                               {"keys", view_of<View::Of::kKeys>},
                               {"values", view_of<View::Of::kValues>},
                               {"items", view_of<View::Of::kItems>},
                               {"copy", itself}};
  static const Methods list = {{"count", count_items}, {"index", index_of}, {"copy", itself}};
  static const Methods tuple = {{"count", count_items}, {"index", index_of}};
  static const Methods whole = {{"bit_length", bit_length}};
  static const Methods real = {{"is_integer", is_whole_float}};
  switch (kind) {
    case Kind::kText:
      return {{&text_methods(), &text_checks()}, {"encode", "maketrans", "translate"}};
    case Kind::kDict:
      return {{&dict}, {"fromkeys"}, {"clear", "pop", "popitem", "setdefault", "update"}};
    case Kind::kList:
      return {
          {&list}, {}, {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"}};
    case Kind::kTuple:
      return {{&tuple}};
    case Kind::kRange:
      return {{&tuple}, {"start", "stop", "step"}};
    case Kind::kBool:
    case Kind::kInt:
      return {{&whole},
              {"as_integer_ratio", "bit_count", "conjugate", "denominator", "from_bytes",
               "numerator", "to_bytes"}};
    case Kind::kFloat:
      return {{&real}, {"as_integer_ratio", "conjugate", "fromhex", "hex"}};
    case Kind::kView:
      return {{}, {"isdisjoint", "mapping"}};
    case Kind::kIterator:
      return {{}, {"close", "send", "throw", "gi_running"}};
    default:
      return {};
  }
}

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const Methods& text_checks() {
  static const Methods methods = {
      {"isalpha", all_are<is_alphabetic>},
      {"isdecimal", all_are<is_decimal>},
      {"isdigit", all_are<is_digit_code>},
      {"isnumeric", all_are<is_numeric>},
      {"isalnum", all_are<is_letter_or_number>},
      {"isspace", all_are<is_space_code>},
      {"isprintable",
       [](Runtime& r, V s, A a) {
         return s.text().empty() ? Value::boolean(true) : all_are<is_printable>(r, s, a);
       }},
      {"isascii",
       [](Runtime& r, V s, A a) {
         return s.text().empty() ? Value::boolean(true) : all_are<is_ascii_code>(r, s, a);
       }},
      {"islower", [](Runtime& r, V s, A a) { return is_in_case(r, s, a, "lower"); }},
      {"isupper", [](Runtime& r, V s, A a) { return is_in_case(r, s, a, "upper"); }},
      {"istitle", is_title_text},
      {"isidentifier", is_identifier}};
  return methods;
}

std::optional<Value> method_of(Runtime& runtime, const Value& holder, std::string_view name) {
  const Abilities abilities = abilities_of(holder.kind());
  if (has(abilities.forbidden, name)) {
    return Value::undefined(fmt::format("templates may not change a value with {}()", name));
  }
  if (has(abilities.unsupported, name)) {
    throw Failure(
        fmt::format("\"{}\" of a value of the type {} is not supported", name, type_name(holder)));
  }
  for (const Methods* methods : abilities.methods) {
    const auto found = methods->find(name);
    if (found == methods->end()) continue;
    if (holder.is_text() && holder.text_object().is_safe) {
      throw Failure(fmt::format("\"{}\" of a text that is marked as HTML is not supported", name));
    }
    return runtime.function(std::string(name),
                            [holder, method = found->second](Runtime& inner, A arguments) {
                              inner.budget.read(holder.is_text() ? holder.text().size() : 0);
                              return method(inner, holder, arguments);
                            });
  }
  return std::nullopt;
}

}  // namespace predgen::jinja
