// for, and the variable `loop` in it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/jinja/functions.h"
#include "text/jinja/interpreter.h"

namespace predgen::jinja {
namespace {

/// One pass of a loop over items, as `loop` shows it.
struct Pass {
  std::shared_ptr<const std::vector<Value>> items;
  size_t index = 0;
  int depth = 1;
  std::shared_ptr<std::optional<std::vector<Value>>> last_seen;  // by changed()
};

Value cycled(const Pass& pass, const Arguments& arguments) {
  if (arguments.positional.empty()) throw Failure("loop.cycle() needs values");
  return arguments.positional[pass.index % arguments.positional.size()];
}

Value has_changed(Runtime& runtime, const Pass& pass, const Arguments& arguments) {
  std::optional<std::vector<Value>>& last = *pass.last_seen;
  const auto are_equal = [&](const Value& a, const Value& b) { return equals(runtime, a, b); };
  const bool is_same = last && std::equal(last->begin(), last->end(), arguments.positional.begin(),
                                          arguments.positional.end(), are_equal);
  if (!is_same) last = arguments.positional;
  return Value::boolean(!is_same);
}

std::optional<Value> attribute_of_pass(Runtime& runtime, const Pass& pass, std::string_view name) {
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

}  // namespace

Interpreter::Flow Interpreter::execute_for(const Statement& statement, const ScopePtr& scope) {
  return loop_over(statement, scope, evaluate(*statement.expressions[1], scope), 1);
}

/// The items that the loop's own condition keeps.
std::vector<Value> Interpreter::filtered(const Statement& statement, const ScopePtr& scope,
                                         const Value& items) {
  std::vector<Value> all = all_items(runtime_, items);
  if (!statement.expressions[2]) return all;
  std::vector<Value> kept;
  for (Value& item : all) {
    const auto inner = std::make_shared<Scope>(scope);
    assign(*statement.expressions[0], inner, item);
    if (is_true(runtime_, evaluate(*statement.expressions[2], inner))) {
      kept.push_back(std::move(item));
    }
  }
  return kept;
}

/// What the branch for an empty loop does to the loops around it.
Interpreter::Flow Interpreter::loop_over(const Statement& statement, const ScopePtr& scope,
                                         const Value& items, int depth) {
  const Budget::Nested nested(runtime_.budget);
  const auto kept = std::make_shared<const std::vector<Value>>(filtered(statement, scope, items));
  const Budget::Held held(runtime_.budget, kept->size() * sizeof(Value));
  Pass pass{.items = kept,
            .depth = depth,
            .last_seen = std::make_shared<std::optional<std::vector<Value>>>()};
  bool has_ended = false;  // any pass
  for (; pass.index < kept->size(); ++pass.index) {
    runtime_.budget.step();
    const auto inner = std::make_shared<Scope>(scope);
    Value loop = runtime_.function(fmt::format("<LoopContext {}/{}>", pass.index + 1, kept->size()),
                                   nullptr);
    auto& custom = const_cast<Custom&>(loop.custom());  // not shared yet
    custom.attribute = [pass](Runtime& runtime, std::string_view name) {
      return attribute_of_pass(runtime, pass, name);
    };
    if (statement.is_recursive) {
      custom.call = [this, &statement, scope, depth](Runtime& runtime, const Arguments& arguments) {
        const std::vector<Value> given = bound("loop", arguments, {"iterable"}, 1);
        return runtime.text(captured_loop(statement, scope, given[0], depth + 1));
      };
    }
    inner->set(runtime_.budget, "loop", std::move(loop));
    assign(*statement.expressions[0], inner, (*kept)[pass.index]);
    const Flow flow = execute(statement.bodies[0], inner);
    has_ended = has_ended || flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  // So also if every pass was left early, as in Jinja2.
  if (has_ended) return Flow::kNext;
  return execute(statement.bodies[1], std::make_shared<Scope>(scope));
}

std::string Interpreter::captured_loop(const Statement& statement, const ScopePtr& scope,
                                       const Value& items, int depth) {
  std::string outer = std::exchange(output_, {});
  const Budget::Held held(runtime_.budget, outer.size());
  loop_over(statement, scope, items, depth);
  return std::exchange(output_, std::move(outer));
}

}  // namespace predgen::jinja
