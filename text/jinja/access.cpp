// Items, attributes, slices and iteration.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

Value missing(const Value& holder, std::string_view name) {
  constexpr size_t kShown = 80;
  return Value::undefined(fmt::format("a value of the type {} has no \"{}\"", type_name(holder),
                                      name.substr(0, kShown)));
}

Value missing(const Value& holder, const Value& key) {
  return missing(holder, key.is_text()    ? std::string_view(key.text())
                         : key.is_whole() ? std::string_view(printed_whole(key.whole()))
                                          : std::string_view("such item"));
}

/// The place of an index from -size to size - 1, or nothing.
std::optional<size_t> place_of(Int index, size_t size) {
  if (index < 0) index += static_cast<Int>(size);
  if (index < 0 || index >= static_cast<Int>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

Value character_at(Runtime& runtime, const Text& text, size_t index) {
  if (!text.is_ascii) runtime.budget.read(text.text.size());
  size_t at = byte_of(text, index);
  const size_t begin = at;
  next_code(text.text, at);
  return runtime.text(text.text.substr(begin, at - begin), text.is_safe);
}

std::optional<Value> own_item(Runtime& runtime, const Value& holder, const Value& key) {
  if (holder.is(Kind::kDict)) {
    if (key.is(Kind::kList) || key.is(Kind::kDict)) return std::nullopt;
    const Value* found = holder.dict().find(runtime, key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (!key.is_whole()) return std::nullopt;
  if (holder.is_text()) {
    const auto place = place_of(key.whole(), holder.text_object().num_characters);
    if (!place) return std::nullopt;
    return character_at(runtime, holder.text_object(), *place);
  }
  if (holder.is_sequence()) {
    const auto place = place_of(key.whole(), holder.items().size());
    return place ? std::optional<Value>(holder.items()[*place]) : std::nullopt;
  }
  if (holder.is(Kind::kRange)) {
    const auto place = place_of(key.whole(), static_cast<size_t>(holder.range().size()));
    if (!place) return std::nullopt;
    return Value::integer(holder.range().start + static_cast<Int>(*place) * holder.range().step);
  }
  return std::nullopt;
}

std::optional<Value> own_attribute(Runtime& runtime, const Value& holder, std::string_view name) {
  if (holder.is(Kind::kNamespace)) {
    const Value* found = holder.name_space().find(name);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (holder.is(Kind::kCustom)) {
    const auto& attribute = holder.custom().attribute;
    return attribute ? attribute(runtime, name) : std::nullopt;
  }
  if (holder.is(Kind::kTuple) && holder.list().is_group) {
    if (name == "grouper") return holder.items()[0];
    if (name == "list") return holder.items()[1];
  }
  if (holder.is_number() && (name == "real" || name == "imag")) {
    if (holder.is(Kind::kFloat)) return name == "real" ? holder : Value::real(0);
    return Value::integer(name == "real" ? holder.whole() : 0);
  }
  return method_of(runtime, holder, name);
}

}  // namespace

Value item_of(Runtime& runtime, const Value& holder, const Value& key) {
  if (holder.is_undefined()) fail_undefined(holder);
  if (auto found = own_item(runtime, holder, key)) return *found;
  if (key.is_text()) {
    if (auto found = own_attribute(runtime, holder, key.text())) return *found;
  }
  return missing(holder, key);
}

Value attribute_of(Runtime& runtime, const Value& holder, const std::string& name) {
  if (holder.is_undefined()) fail_undefined(holder);
  if (auto found = own_attribute(runtime, holder, name)) return *found;
  if (holder.is(Kind::kDict)) {
    if (const Value* found = holder.dict().find(name)) return *found;
  }
  return missing(holder, name);
}

void set_attribute(Runtime& runtime, const Value& name_space, const std::string& name,
                   const Value& value) {
  if (name.starts_with('_')) {
    throw Failure(fmt::format("a namespace cannot hold \"{}\": its name begins with _", name));
  }
  Namespace& space = name_space.name_space();
  if (Value* old = space.find(name)) {
    *old = value;
    return;
  }
  space.held.attach(runtime.budget, sizeof(Value) + sizeof(std::string) + name.size());
  space.attributes.emplace_back(name, value);
}

namespace {

struct Steps {
  int64_t start, step, count;
};

Steps steps_of(const Slice& slice, int64_t size) {
  const auto number = [](const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
    if (!value.is_whole()) fail_type("a slice", value);
    return static_cast<int64_t>(std::clamp(value.whole(), Int{INT64_MIN / 4}, Int{INT64_MAX / 4}));
  };
  const int64_t step = slice.step.is_none() ? 1 : number(slice.step);
  if (step == 0) throw Failure("the step of a slice is 0");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto place = [&](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const int64_t at = number(value);
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  const int64_t start = place(slice.start, step > 0 ? low : high);
  const int64_t stop = place(slice.stop, step > 0 ? high : low);
  const int64_t span = step > 0 ? stop - start : start - stop;
  const int64_t stride = step > 0 ? step : -step;
  return {start, step, span <= 0 ? 0 : (span - 1) / stride + 1};
}

Value slice_of_text(Runtime& runtime, const Text& text, const Slice& slice) {
  const Steps steps = steps_of(slice, static_cast<int64_t>(text.num_characters));
  runtime.budget.read(text.text.size());
  if (steps.step == 1 || steps.count == 0) {
    const size_t begin = byte_of(text, static_cast<size_t>(std::max<int64_t>(steps.start, 0)));
    const size_t end = byte_of(text, static_cast<size_t>(steps.start + steps.count));
    return runtime.text(steps.count == 0 ? "" : text.text.substr(begin, end - begin), text.is_safe);
  }
  runtime.budget.hold(text.num_characters * sizeof(std::string_view));
  const std::vector<std::string_view> all = characters_of(text.text);
  std::string result;
  for (int64_t i = 0; i < steps.count; ++i) {
    result += all[static_cast<size_t>(steps.start + i * steps.step)];
  }
  runtime.budget.release(text.num_characters * sizeof(std::string_view));
  return runtime.text(std::move(result), text.is_safe);
}

}  // namespace

Value slice_of(Runtime& runtime, const Value& holder, const Slice& slice) {
  if (holder.is_undefined()) fail_undefined(holder);
  if (holder.is_text()) return slice_of_text(runtime, holder.text_object(), slice);
  if (holder.is(Kind::kRange)) {
    const Range& range = holder.range();
    const Steps steps = steps_of(slice, static_cast<int64_t>(range.size()));
    const Int start = range.start + steps.start * range.step, by = range.step * steps.step;
    return {Kind::kRange, std::make_shared<Range>(start, start + by * steps.count, by)};
  }
  if (!holder.is_sequence()) fail_type("a slice", holder);
  const Steps steps = steps_of(slice, static_cast<int64_t>(holder.items().size()));
  runtime.budget.step(steps.count);
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(steps.count));
  for (int64_t i = 0; i < steps.count; ++i) {
    items.push_back(holder.items()[static_cast<size_t>(steps.start + i * steps.step)]);
  }
  return holder.is(Kind::kList) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kNamespace:
    case Kind::kCustom:
      return false;
    default:
      return true;
  }
}

namespace {

std::vector<Value> items_of_dict(Runtime& runtime, const Dict& dict, View::Of of) {
  std::vector<Value> items;
  items.reserve(dict.items.size());
  runtime.budget.step(static_cast<int64_t>(dict.items.size()));
  for (const auto& [key, value] : dict.items) {
    items.push_back(of == View::Of::kKeys     ? key
                    : of == View::Of::kValues ? value
                                              : runtime.tuple({key, value}));
  }
  return items;
}

}  // namespace

std::vector<Value> all_items(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::kUndefined:
      break;
    case Kind::kText:
      for (const std::string_view character : characters_of(value.text())) {
        items.push_back(runtime.text(std::string(character)));
      }
      break;
    case Kind::kList:
    case Kind::kTuple:
      runtime.budget.step(static_cast<int64_t>(value.items().size()));
      return value.items();
    case Kind::kDict:
      return items_of_dict(runtime, value.dict(), View::Of::kKeys);
    case Kind::kView:
      return items_of_dict(runtime, value.view().dict.dict(), value.view().of);
    case Kind::kRange: {
      const Range& range = value.range();
      runtime.budget.step(static_cast<int64_t>(range.size()));
      for (Int i = 0; i < range.size(); ++i) {
        items.push_back(Value::integer(range.start + i * range.step));
      }
      break;
    }
    case Kind::kIterator:
      while (auto item = value.iterator().next(runtime)) {
        runtime.budget.step();
        items.push_back(std::move(*item));
      }
      break;
    default:
      fail_type("a loop, or what takes a list,", value);
  }
  return items;
}

size_t length_of(Runtime&, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kText:
      return value.text_object().num_characters;
    case Kind::kList:
    case Kind::kTuple:
      return value.items().size();
    case Kind::kDict:
      return value.dict().items.size();
    case Kind::kRange:
      return static_cast<size_t>(value.range().size());
    case Kind::kView:
      return value.view().dict.dict().items.size();
    default:
      fail_type("length", value);
  }
}

Value call(Runtime& runtime, const Value& function, const Arguments& arguments) {
  if (function.is_undefined()) fail_undefined(function);
  if (!function.is(Kind::kCustom) || !function.custom().call) fail_type("a call", function);
  const Budget::Nested nested(runtime.budget);
  return function.custom().call(runtime, arguments);
}

}  // namespace predgen::jinja
