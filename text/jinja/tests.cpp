// What follows `is`.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

using V = const Value&;
using Test = bool (*)(Runtime&, const Value&, const Value&);

const Value& whole(const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
  return value;
}

bool is_multiple(Runtime& runtime, const Value& value, const Value& by) {
  const Value rest = calculate(runtime, Operator::kModulo, whole(value), by);
  return equals(runtime, rest, Value::integer(0));
}

/// str.islower() and str.isupper()
bool has_only(std::string_view text, bool is_upper) {
  bool has_any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_code(text, at);
    if ((is_upper ? is_lower_code(code) : is_upper_code(code)) || is_title_code(code)) return false;
    has_any = has_any || (is_upper ? is_upper_code(code) : is_lower_code(code));
  }
  return has_any;
}

bool is_sequence(const Value& value) {
  return value.is_text() || value.is_sequence() || value.is(Kind::kDict) ||
         value.is(Kind::kRange) || value.is_undefined();
}

const std::unordered_map<std::string_view, Test>& plain_tests() {
  static const std::unordered_map<std::string_view, Test> tests = {
      {"odd",
       [](Runtime& r, V v, V) {
         return equals(r, calculate(r, Operator::kModulo, whole(v), Value::integer(2)),
                       Value::integer(1));
       }},
      {"even", [](Runtime& r, V v, V) { return is_multiple(r, v, Value::integer(2)); }},
      {"defined", [](Runtime&, V v, V) { return !v.is_undefined(); }},
      {"undefined", [](Runtime&, V v, V) { return v.is_undefined(); }},
      {"filter", [](Runtime&, V v, V) { return v.is_text() && is_filter(v.text()); }},
      {"test", [](Runtime&, V v, V) { return v.is_text() && is_test(v.text()); }},
      {"none", [](Runtime&, V v, V) { return v.is_none(); }},
      {"boolean", [](Runtime&, V v, V) { return v.is(Kind::kBool); }},
      {"false", [](Runtime&, V v, V) { return v.is(Kind::kBool) && v.whole() == 0; }},
      {"true", [](Runtime&, V v, V) { return v.is(Kind::kBool) && v.whole() != 0; }},
      {"integer", [](Runtime&, V v, V) { return v.is(Kind::kInt); }},
      {"float", [](Runtime&, V v, V) { return v.is(Kind::kFloat); }},
      {"number", [](Runtime&, V v, V) { return v.is_number(); }},
      {"string", [](Runtime&, V v, V) { return v.is_text(); }},
      {"mapping", [](Runtime&, V v, V) { return v.is(Kind::kDict); }},
      {"sequence", [](Runtime&, V v, V) { return is_sequence(v); }},
      {"iterable", [](Runtime&, V v, V) { return is_iterable(v); }},
      {"callable", [](Runtime&, V v,
                      V) { return v.is_undefined() || (v.is(Kind::kCustom) && v.custom().call); }},
      {"escaped", [](Runtime&, V v, V) { return v.is_text() && v.text_object().is_safe; }},
      {"lower", [](Runtime& r, V v, V) { return has_only(printed(r, v), false); }},
      {"upper", [](Runtime& r, V v, V) { return has_only(printed(r, v), true); }},
  };
  return tests;
}

const std::unordered_map<std::string_view, Test>& tests_with_another() {
  constexpr Test kLess = [](Runtime& r, V v, V o) {
    return is_ordered(r, Comparison::kLess, v, o);
  };
  constexpr Test kLessEqual = [](Runtime& r, V v, V o) {
    return is_ordered(r, Comparison::kLessEqual, v, o);
  };
  constexpr Test kGreater = [](Runtime& r, V v, V o) {
    return is_ordered(r, Comparison::kGreater, v, o);
  };
  constexpr Test kGreaterEqual = [](Runtime& r, V v, V o) {
    return is_ordered(r, Comparison::kGreaterEqual, v, o);
  };
  constexpr Test kEqual = [](Runtime& r, V v, V o) { return equals(r, v, o); };
  constexpr Test kUnequal = [](Runtime& r, V v, V o) { return !equals(r, v, o); };
  static const std::unordered_map<std::string_view, Test> tests = {
      {"divisibleby", is_multiple},
      {"sameas",
       [](Runtime& r, V v, V o) {
         const bool is_plain = (!v.shared() && !o.shared()) || v.is_text();
         return v.kind() == o.kind() && (is_plain ? equals(r, v, o) : v.shared() == o.shared());
       }},
      {"in", [](Runtime& r, V v, V o) { return contains(r, o, v); }},
      {"==", kEqual},
      {"eq", kEqual},
      {"equalto", kEqual},
      {"!=", kUnequal},
      {"ne", kUnequal},
      {"<", kLess},
      {"lt", kLess},
      {"lessthan", kLess},
      {"<=", kLessEqual},
      {"le", kLessEqual},
      {">", kGreater},
      {"gt", kGreater},
      {"greaterthan", kGreater},
      {">=", kGreaterEqual},
      {"ge", kGreaterEqual},
  };
  return tests;
}

}  // namespace

bool is_test(std::string_view name) {
  return plain_tests().contains(name) || tests_with_another().contains(name);
}

bool test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  const Budget::Nested nested(runtime.budget);
  const size_t num_others = arguments.positional.size() + arguments.named.size();
  if (const auto found = plain_tests().find(name); found != plain_tests().end()) {
    if (num_others > 0) throw Failure(fmt::format("the test \"{}\" takes no arguments", name));
    return found->second(runtime, value, value);
  }
  const auto found = tests_with_another().find(name);
  if (found == tests_with_another().end()) {
    throw Failure(fmt::format("the test \"{}\" is not known", name));
  }
  if (num_others != 1) throw Failure(fmt::format("the test \"{}\" needs one argument", name));
  const Value& other =
      arguments.named.empty() ? arguments.positional[0] : arguments.named[0].second;
  return found->second(runtime, value, other);
}

}  // namespace predgen::jinja
