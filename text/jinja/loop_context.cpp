#include "text/jinja/loop_context.h"

#include <algorithm>

#include "text/jinja/functions.h"

namespace predgen::jinja {
namespace {

Value cycled(const LoopContext& pass, const Arguments& arguments) {
  if (arguments.positional.empty()) throw Failure("loop.cycle() needs values");
  return arguments.positional[pass.index % arguments.positional.size()];
}

Value has_changed(Runtime& runtime, const LoopContext& pass, const Arguments& arguments) {
  std::optional<std::vector<Value>>& last = *pass.last_seen;
  const auto are_equal = [&](const Value& a, const Value& b) { return equals(runtime, a, b); };
  const bool is_same = last && std::equal(last->begin(), last->end(), arguments.positional.begin(),
                                          arguments.positional.end(), are_equal);
  if (!is_same) last = arguments.positional;
  return Value::boolean(!is_same);
}

}  // namespace

std::optional<Value> attribute_of_loop(Runtime& runtime, const LoopContext& pass,
                                       std::string_view name) {
  const size_t index = pass.index, size = pass.items->size();
  const auto number = [](size_t value) { return Value::integer(static_cast<Int>(value)); };
  if (name == "index") return number(index + 1);
  if (name == "index0") return number(index);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == size);
  if (name == "length") return number(size);
  if (name == "revindex") return number(size - index);
  if (name == "revindex0") return number(size - index - 1);
  if (name == "depth") return Value::integer(pass.depth);
  if (name == "depth0") return Value::integer(pass.depth - 1);
  if (name == "previtem") {
    return index > 0 ? (*pass.items)[index - 1] : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < size ? (*pass.items)[index + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle") {
    return runtime.function("loop.cycle", [pass](Runtime&, const Arguments& arguments) {
      return cycled(pass, arguments);
    });
  }
  if (name == "changed") {
    return runtime.function("loop.changed", [pass](Runtime& inner, const Arguments& arguments) {
      return has_changed(inner, pass, arguments);
    });
  }
  return std::nullopt;
}

}  // namespace predgen::jinja
