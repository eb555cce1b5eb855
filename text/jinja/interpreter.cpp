#include "text/jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"
#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {
namespace {

/// One pass of a loop over items, as the variable `loop` shows it.
struct LoopContext {
  std::shared_ptr<const std::vector<Value>> items;
  size_t index = 0;
  int depth = 1;
  std::shared_ptr<std::optional<std::vector<Value>>> last_seen;  // by changed()
};

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

/// `loop.name`, if there is such an attribute.
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

}  // namespace

std::string Interpreter::render(const Program& program, const ScopePtr& variables) {
  root_ = std::make_shared<Scope>();
  root_->parent = variables;
  runtime_.at_end([root = root_] { root->values.clear(); });
  try {
    execute(program.body, root_);
  } catch (const Raised&) {
    throw;
  } catch (const TooMuch& failure) {
    throw TooMuch(fmt::format("line {}: {}", line_, failure.what()));
  } catch (const Failure& failure) {
    throw Failure(fmt::format("line {}: {}", line_, failure.what()));
  }
  return std::move(output_);
}

void Interpreter::write(std::string_view text) { runtime_.budget.append(output_, text); }

template <typename Work>
std::string Interpreter::captured(const Work& work) {
  std::string outer = std::exchange(output_, {});
  const Budget::Held held(runtime_.budget, outer.size());
  work();
  return std::exchange(output_, std::move(outer));
}

Interpreter::Flow Interpreter::execute(const Body& body, const ScopePtr& scope) {
  for (const Statement& statement : body) {
    line_ = statement.line;
    const Flow flow = execute(statement, scope);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, const ScopePtr& scope) {
  if (statement.type == StatementType::kData) {
    write(statement.text);
    return Flow::kNext;
  }
  const Budget::Nested nested(runtime_.budget);
  switch (statement.type) {
    case StatementType::kData:
      break;
    case StatementType::kPrint:
      for (const ExpressionPtr& expression : statement.expressions) {
        write(printed(runtime_, evaluator_.evaluate(*expression, scope)));
      }
      break;
    case StatementType::kIf:
      return execute_if(statement, scope);
    case StatementType::kFor:
      return execute_for(statement, scope);
    case StatementType::kSet:
      evaluator_.assign(*statement.expressions[0], scope,
                        evaluator_.evaluate(*statement.expressions[1], scope));
      break;
    case StatementType::kSetBlock:
      return execute_set_block(statement, scope);
    case StatementType::kMacro:
      execute_macro(statement, scope);
      break;
    case StatementType::kCall:
      execute_call(statement, scope);
      break;
    case StatementType::kFilter: {
      Flow flow = Flow::kNext;
      const auto inner = std::make_shared<Scope>(scope);
      std::string text = captured([&] { flow = execute(statement.bodies[0], inner); });
      if (flow != Flow::kNext) return flow;
      const Value value = runtime_.text(std::move(text));
      write(printed(runtime_, evaluator_.apply_filters(*statement.expressions[0], inner, value)));
      break;
    }
    case StatementType::kWith:
      return execute_with(statement, scope);
    case StatementType::kScope:
      return execute(statement.bodies[0], std::make_shared<Scope>(scope));
    case StatementType::kBlock:
      return execute(statement.bodies[0], std::make_shared<Scope>(root_));
    case StatementType::kBreak:
      return Flow::kBreak;
    case StatementType::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_if(const Statement& statement, const ScopePtr& scope) {
  for (size_t i = 0; i < statement.bodies.size(); ++i) {
    const bool is_else = i == statement.expressions.size();
    if (is_else || is_true(runtime_, evaluator_.evaluate(*statement.expressions[i], scope))) {
      return execute(statement.bodies[i], scope);
    }
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_set_block(const Statement& statement,
                                                 const ScopePtr& scope) {
  const auto inner = std::make_shared<Scope>(scope);
  Flow flow = Flow::kNext;
  std::string text = captured([&] { flow = execute(statement.bodies[0], inner); });
  if (flow != Flow::kNext) return flow;
  Value value = runtime_.text(std::move(text));
  if (statement.expressions[1])
    value = evaluator_.apply_filters(*statement.expressions[1], inner, value);
  evaluator_.assign(*statement.expressions[0], scope, value);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_with(const Statement& statement, const ScopePtr& scope) {
  const auto inner = std::make_shared<Scope>(scope);
  for (size_t i = 0; i < statement.expressions.size(); i += 2) {
    evaluator_.assign(*statement.expressions[i], inner,
                      evaluator_.evaluate(*statement.expressions[i + 1], scope));
  }
  return execute(statement.bodies[0], inner);
}

Interpreter::Flow Interpreter::execute_for(const Statement& statement, const ScopePtr& scope) {
  return loop_over(statement, scope, evaluator_.evaluate(*statement.expressions[1], scope), 1);
}

/// The items that the loop's own condition keeps.
std::vector<Value> Interpreter::filtered(const Statement& statement, const ScopePtr& scope,
                                         const Value& items) {
  std::vector<Value> all = all_items(runtime_, items);
  if (!statement.expressions[2]) return all;
  std::vector<Value> kept;
  for (Value& item : all) {
    const auto inner = std::make_shared<Scope>(scope);
    evaluator_.assign(*statement.expressions[0], inner, item);
    if (is_true(runtime_, evaluator_.evaluate(*statement.expressions[2], inner))) {
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
  LoopContext pass{.items = kept,
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
      return attribute_of_loop(runtime, pass, name);
    };
    if (statement.is_recursive) {
      custom.call = [this, &statement, scope, depth](Runtime& runtime, const Arguments& arguments) {
        const std::vector<Value> given = bound("loop", arguments, {"iterable"}, 1);
        return runtime.text(captured([&] { loop_over(statement, scope, given[0], depth + 1); }));
      };
    }
    inner->set(runtime_.budget, "loop", std::move(loop));
    evaluator_.assign(*statement.expressions[0], inner, (*kept)[pass.index]);
    const Flow flow = execute(statement.bodies[0], inner);
    has_ended = has_ended || flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  // So also if every pass was left early, as in Jinja2.
  if (has_ended) return Flow::kNext;
  return execute(statement.bodies[1], std::make_shared<Scope>(scope));
}

void Interpreter::execute_macro(const Statement& statement, const ScopePtr& scope) {
  scope->set(runtime_.budget, statement.signature.name, macro(statement, scope));
}

void Interpreter::execute_call(const Statement& statement, const ScopePtr& scope) {
  const Value caller = macro(statement, scope);
  write(printed(runtime_, evaluator_.call_function(*statement.expressions[0], scope, &caller)));
}

Value Interpreter::macro(const Statement& statement, const ScopePtr& scope) {
  if (!scope->is_kept) {
    scope->is_kept = true;
    runtime_.at_end([scope] { scope->values.clear(); });
  }
  Value result = runtime_.function(fmt::format("<Macro {}>", quoted_text(statement.signature.name)),
                                   [this, &statement, scope](Runtime&, const Arguments& arguments) {
                                     return run_macro(statement, scope, arguments);
                                   });
  const_cast<Custom&>(result.custom()).attribute =  // not shared yet
      [&signature = statement.signature](Runtime& runtime,
                                         std::string_view name) -> std::optional<Value> {
    if (name == "name") return runtime.text(signature.name);
    if (name == "caller") return Value::boolean(signature.takes_caller);
    if (name == "catch_kwargs") return Value::boolean(signature.takes_named);
    if (name == "catch_varargs") return Value::boolean(signature.takes_more);
    if (name != "arguments") return std::nullopt;
    std::vector<Value> names;
    for (const std::string& parameter : signature.parameters) {
      names.push_back(runtime.text(parameter));
    }
    return runtime.tuple(std::move(names));
  };
  return result;
}

Value Interpreter::run_macro(const Statement& statement, const ScopePtr& outer,
                             const Arguments& arguments) {
  const Budget::Nested nested(runtime_.budget);
  const Signature& signature = statement.signature;
  const auto scope = std::make_shared<Scope>(outer);
  const auto& names = signature.parameters;
  const auto fail = [&](const std::string& why) -> void {
    throw Failure(fmt::format("the macro \"{}\" {}", signature.name, why));
  };
  std::vector<std::optional<Value>> given(names.size());
  for (size_t i = 0; i < std::min(names.size(), arguments.positional.size()); ++i) {
    given[i] = arguments.positional[i];
  }
  std::vector<Value> more;
  for (size_t i = names.size(); i < arguments.positional.size(); ++i) {
    more.push_back(arguments.positional[i]);
  }
  if (!more.empty() && !signature.takes_more) {
    fail(fmt::format("takes no more than {} arguments", names.size()));
  }
  std::vector<std::pair<Value, Value>> named;
  std::optional<Value> caller;
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      std::optional<Value>& place = given[static_cast<size_t>(found - names.begin())];
      if (place) fail(fmt::format("got two values for \"{}\"", name));
      place = value;
    } else if (name == "caller" && signature.takes_caller) {
      caller = value;
    } else if (signature.takes_named) {
      named.emplace_back(runtime_.text(name), value);
    } else {
      fail(fmt::format("has no parameter \"{}\"", name));
    }
  }
  const bool names_caller = std::find(names.begin(), names.end(), "caller") != names.end();
  if (signature.takes_caller && !names_caller) {
    scope->set(runtime_.budget, "caller",
               caller.value_or(Value::undefined("no caller is defined")));
  }
  if (signature.takes_named) scope->set(runtime_.budget, "kwargs", runtime_.dict(std::move(named)));
  if (signature.takes_more) scope->set(runtime_.budget, "varargs", runtime_.tuple(std::move(more)));
  const size_t num_required = names.size() - signature.defaults.size();
  for (size_t i = 0; i < names.size(); ++i) {
    Value value =
        given[i] ? *given[i]
        : i < num_required
            ? Value::undefined(fmt::format("the parameter \"{}\" was not given", names[i]))
            : evaluator_.evaluate(*signature.defaults[i - num_required], scope);
    scope->set(runtime_.budget, names[i], std::move(value));
  }
  const int line = line_;
  std::string text = captured([&] { execute(statement.bodies[0], scope); });
  line_ = line;
  return runtime_.text(std::move(text));
}

}  // namespace predgen::jinja
