// Filters of sequences.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {

// Filters that take the names of filters, tests and attributes: map, select and their kin.
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

namespace {

using A = const Arguments&;
using V = const Value&;

/// Texts in lower case, as sorting compares them unless it is case-sensitive.
Value without_case(Runtime& runtime, const Value& value, bool is_case_sensitive) {
  if (is_case_sensitive || !value.is_text()) return value;
  runtime.budget.write(2 * value.text().size());
  return runtime.text(lower(value.text()));
}

using Keyed = std::pair<Value, Value>;  // key, item

void sort(Runtime& runtime, std::vector<Keyed>& items, bool is_reversed) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return is_reversed ? compare(runtime, b.first, a.first) < 0
                       : compare(runtime, a.first, b.first) < 0;
  });
}

std::vector<Keyed> keyed(Runtime& runtime, V value, V path, bool is_case_sensitive) {
  std::vector<Keyed> result;
  for (Value& item : all_items(runtime, value)) {
    Value key = without_case(runtime, attribute_at(runtime, item, path), is_case_sensitive);
    result.emplace_back(std::move(key), std::move(item));
  }
  return result;
}

Value sorted(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given =
      bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool is_case_sensitive = is_true(runtime, given[1]);
  std::vector<Value> paths;
  if (given[2].is_text()) {
    for (const std::string_view path : split(runtime.budget, given[2].text(), ",", -1, false)) {
      paths.push_back(runtime.text(std::string(path)));
    }
  } else {
    paths.push_back(given[2]);
  }
  std::vector<Keyed> items;
  for (Value& item : all_items(runtime, value)) {
    std::vector<Value> keys;
    for (const Value& path : paths) {
      keys.push_back(without_case(runtime, attribute_at(runtime, item, path), is_case_sensitive));
    }
    items.emplace_back(runtime.tuple(std::move(keys)), std::move(item));
  }
  sort(runtime, items, is_true(runtime, given[0]));
  std::vector<Value> result;
  for (auto& [key, item] : items) result.push_back(std::move(item));
  return runtime.list(std::move(result));
}

Value sorted_dict(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given =
      bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (!value.is(Kind::kDict)) fail_type("dictsort", value);
  const std::string by = is_given(given[1]) ? printed(runtime, given[1]) : "key";
  if (by != "key" && by != "value") throw Failure("dictsort: by is \"key\" or \"value\"");
  std::vector<Keyed> items;
  for (const auto& [key, item] : value.dict().items) {
    items.emplace_back(without_case(runtime, by == "key" ? key : item, is_true(runtime, given[0])),
                       runtime.tuple({key, item}));
  }
  sort(runtime, items, is_true(runtime, given[2]));
  std::vector<Value> result;
  for (auto& [key, item] : items) result.push_back(std::move(item));
  return runtime.list(std::move(result));
}

Value grouped(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given =
      bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const auto key_of = [&](V item) { return attribute_at(runtime, item, given[0], given[1]); };
  std::vector<Keyed> items;
  for (Value& item : all_items(runtime, value)) {
    Value key = without_case(runtime, key_of(item), is_true(runtime, given[2]));
    items.emplace_back(std::move(key), std::move(item));
  }
  sort(runtime, items, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    std::vector<Value> group;
    size_t end = begin;
    while (end < items.size() && equals(runtime, items[end].first, items[begin].first)) {
      group.push_back(items[end++].second);
    }
    Value key = key_of(group.front());
    const auto made = std::make_shared<List>(
        runtime.budget, std::vector<Value>{std::move(key), runtime.list(std::move(group))});
    made->is_group = true;
    groups.emplace_back(Kind::kTuple, made);
    begin = end;
  }
  return runtime.list(std::move(groups));
}

Value unique(Runtime& runtime, V value, A arguments) {
  std::vector<Value> given = bound("unique", arguments, {"case_sensitive", "attribute"});
  return runtime.iterator("generator", [value, given = std::move(given)](Runtime& inner) {
    std::unordered_multimap<size_t, Value> seen;  // hash -> key
    std::vector<Value> result;
    for (auto& [key, item] : keyed(inner, value, given[1], is_true(inner, given[0]))) {
      const size_t hash = hash_of(inner, key);
      const auto [begin, end] = seen.equal_range(hash);
      const bool is_old = std::any_of(begin, end, [&, &wanted = key](const auto& one) {
        return equals(inner, one.second, wanted);
      });
      if (is_old) continue;
      seen.emplace(hash, key);
      result.push_back(item);
    }
    return result;
  });
}

Value least_or_most(Runtime& runtime, V value, A arguments, bool is_least) {
  const std::vector<Value> given =
      bound(is_least ? "min" : "max", arguments, {"case_sensitive", "attribute"});
  const std::vector<Keyed> items = keyed(runtime, value, given[1], is_true(runtime, given[0]));
  if (items.empty()) return Value::undefined("min or max of nothing");
  const Keyed* best = &items.front();
  for (size_t i = 1; i < items.size(); ++i) {
    const int order = compare(runtime, items[i].first, best->first);
    if (is_least ? order < 0 : order > 0) best = &items[i];
  }
  return best->second;
}

Value joined(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("join", arguments, {"d", "attribute"});
  const std::string between = printed(runtime, given[0]);
  std::string result;
  bool is_first = true;
  for (const Value& item : all_items(runtime, value)) {
    if (!std::exchange(is_first, false)) runtime.budget.append(result, between);
    const Value part = is_given(given[1]) ? attribute_at(runtime, item, given[1]) : item;
    runtime.budget.append(result, printed(runtime, part));
  }
  return runtime.text(std::move(result));
}

Value summed(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("sum", arguments, {"attribute", "start"});
  Value sum = is_given(given[1]) ? given[1] : Value::integer(0);
  if (sum.is_text()) fail_type("sum", sum);
  for (const Value& item : all_items(runtime, value)) {
    sum = calculate(runtime, Operator::kAdd, sum, attribute_at(runtime, item, given[0]));
  }
  return sum;
}

Value reversed(Runtime& runtime, V value, A arguments) {
  bound("reverse", arguments, {});
  if (value.is_text()) {
    return slice_of(runtime, value, {Value::none(), Value::none(), Value::integer(-1)});
  }
  std::vector<Value> items = all_items(runtime, value);
  std::reverse(items.begin(), items.end());
  const bool has_reversed = value.is_sequence() || value.is(Kind::kDict) ||
                            value.is(Kind::kRange) || value.is(Kind::kView);
  if (!has_reversed) return runtime.list(std::move(items));
  return runtime.iterator("reversed list", [items = std::move(items)](Runtime&) { return items; });
}

Value first_or_last(Runtime& runtime, V value, A arguments, bool is_first) {
  bound(is_first ? "first" : "last", arguments, {});
  Value nothing = Value::undefined("the first or last item of nothing");
  if (is_first && value.is(Kind::kIterator)) {
    return value.iterator().next(runtime).value_or(nothing);
  }
  if (!is_first && value.is(Kind::kIterator)) fail_type("last", value);
  if (value.is_text() || value.is_sequence()) {
    if (length_of(runtime, value) == 0) return nothing;
    return item_of(runtime, value, Value::integer(is_first ? 0 : -1));
  }
  const std::vector<Value> items = all_items(runtime, value);
  if (items.empty()) return nothing;
  return is_first ? items.front() : items.back();
}

Value listed(Runtime& runtime, V value, A arguments) {
  bound("list", arguments, {});
  return runtime.list(all_items(runtime, value));
}

Value pairs_of(Runtime& runtime, V value, A arguments) {
  bound("items", arguments, {});
  return runtime.iterator("generator", [value](Runtime& inner) -> std::vector<Value> {
    if (value.is_undefined()) return {};
    if (!value.is(Kind::kDict)) fail_type("items", value);
    return all_items(inner, {Kind::kView, std::make_shared<View>(value, View::Of::kItems)});
  });
}

Value batched(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("batch", arguments, {"linecount", "fill_with"}, 1);
  return runtime.iterator("generator", [value, given](Runtime& inner) {
    const int64_t size = whole_number(given[0], "batch");
    std::vector<Value> result, line;
    for (const Value& item : all_items(inner, value)) {
      if (static_cast<int64_t>(line.size()) == size) {
        result.push_back(inner.list(std::exchange(line, {})));
      }
      line.push_back(item);
    }
    if (line.empty()) return result;
    const bool fills = is_given(given[1]) && !given[1].is_none();
    if (fills && size > static_cast<int64_t>(line.size())) {
      inner.budget.write_times(static_cast<size_t>(size), sizeof(Value));
      line.resize(static_cast<size_t>(size), given[1]);
    }
    result.push_back(inner.list(std::move(line)));
    return result;
  });
}

Value sliced(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("slice", arguments, {"slices", "fill_with"}, 1);
  return runtime.iterator("generator", [value, given](Runtime& inner) {
    const std::vector<Value> items = all_items(inner, value);
    const int64_t count = whole_number(given[0], "slice");
    if (count == 0) throw Failure("division by zero");
    const auto size = static_cast<int64_t>(items.size());
    const bool fills = is_given(given[1]) && !given[1].is_none();
    std::vector<Value> result;
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool is_longer = i < size % count;
      const int64_t length = size / count + (is_longer ? 1 : 0);
      std::vector<Value> part(items.begin() + at, items.begin() + at + length);
      if (fills && !is_longer) part.push_back(given[1]);
      at += length;
      result.push_back(inner.list(std::move(part)));
    }
    return result;
  });
}

Value counted(Runtime& runtime, V value, A arguments) {
  bound("length", arguments, {});
  return Value::integer(static_cast<Int>(length_of(runtime, value)));
}

}  // namespace

const Methods& list_filters() {
  static const Methods filters = {
      {"sort", sorted},
      {"dictsort", sorted_dict},
      {"groupby", grouped},
      {"unique", unique},
      {"min", [](Runtime& r, V v, A a) { return least_or_most(r, v, a, true); }},
      {"max", [](Runtime& r, V v, A a) { return least_or_most(r, v, a, false); }},
      {"join", joined},
      {"sum", summed},
      {"reverse", reversed},
      {"first", [](Runtime& r, V v, A a) { return first_or_last(r, v, a, true); }},
      {"last", [](Runtime& r, V v, A a) { return first_or_last(r, v, a, false); }},
      {"list", listed},
      {"items", pairs_of},
      {"batch", batched},
      {"slice", sliced},
      {"length", counted},
      {"count", counted}};
  return filters;
}

}  // namespace predgen::jinja
