// Filters that take the names of filters, tests and attributes: map, select and their kin.
#include <fmt/format.h>

#include <utility>

#include "text/jinja/functions.h"

namespace predgen::jinja {
namespace {

using A = const Arguments&;
using V = const Value&;

const std::string& name_in(std::string_view function, const Value& value) {
  if (!value.is_text()) fail_type(function, value);
  return value.text();
}

Value mapped(Runtime& runtime, V value, A given) {
  return runtime.iterator("generator", [value, given](Runtime& inner) {
    std::vector<Value> result;
    if (!is_true(inner, value)) return result;
    std::optional<std::vector<Value>> attribute;
    if (given.positional.empty()) {
      bool has_attribute = false;
      for (const auto& [name, one] : given.named) has_attribute |= name == "attribute";
      if (!has_attribute) throw Failure("map needs the name of a filter, or attribute=..");
      attribute = bound("map", given, {"attribute", "default"}, 1);
    }
    Arguments rest{.named = given.named};
    if (!attribute) rest.positional.assign(given.positional.begin() + 1, given.positional.end());
    for (const Value& item : all_items(inner, value)) {
      result.push_back(attribute ? attribute_at(inner, item, (*attribute)[0], (*attribute)[1])
                                 : filter(inner, name_in("map", given.positional[0]), item, rest));
    }
    return result;
  });
}

Value selected(Runtime& runtime, V value, A given, bool is_kept, bool by_attribute) {
  return runtime.iterator("generator", [value, given, is_kept, by_attribute](Runtime& inner) {
    std::vector<Value> result;
    if (!is_true(inner, value)) return result;
    const size_t begin = by_attribute ? 1 : 0;
    if (given.positional.size() < begin) throw Failure("selectattr needs an attribute");
    const bool has_test = given.positional.size() > begin;
    Arguments rest{.named = given.named};
    if (has_test) {
      rest.positional.assign(given.positional.begin() + static_cast<ptrdiff_t>(begin) + 1,
                             given.positional.end());
    }
    for (Value& item : all_items(inner, value)) {
      const Value tested = by_attribute ? attribute_at(inner, item, given.positional[0]) : item;
      const bool holds = has_test
                             ? test(inner, name_in("select", given.positional[begin]), tested, rest)
                             : is_true(inner, tested);
      if (holds == is_kept) result.push_back(std::move(item));
    }
    return result;
  });
}

Value defaulted(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("default", arguments, {"default_value", "boolean"});
  const bool is_missing =
      value.is_undefined() || (is_true(runtime, given[1]) && !is_true(runtime, value));
  if (!is_missing) return value;
  return is_given(given[0]) ? given[0] : runtime.text("");
}

Value attribute_named(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("attr", arguments, {"name"}, 1);
  const std::string& name = name_in("attr", given[0]);
  if (value.is(Kind::kDict)) {  // never its items
    return method_of(runtime, value, name).value_or(Value::undefined("no such attribute"));
  }
  return attribute_of(runtime, value, name);
}

}  // namespace

const Methods& selecting_filters() {
  static const Methods filters = {
      {"map", mapped},
      {"select", [](Runtime& r, V v, A a) { return selected(r, v, a, true, false); }},
      {"reject", [](Runtime& r, V v, A a) { return selected(r, v, a, false, false); }},
      {"selectattr", [](Runtime& r, V v, A a) { return selected(r, v, a, true, true); }},
      {"rejectattr", [](Runtime& r, V v, A a) { return selected(r, v, a, false, true); }},
      {"default", defaulted},
      {"d", defaulted},
      {"attr", attribute_named}};
  return filters;
}

}  // namespace predgen::jinja
