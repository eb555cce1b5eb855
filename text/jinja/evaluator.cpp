#include "text/jinja/evaluator.h"

#include <fmt/format.h>

#include "text/jinja/functions.h"

namespace predgen::jinja {
namespace {

bool is_in_order(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kEqual:
      return equals(runtime, left, right);
    case Comparison::kUnequal:
      return !equals(runtime, left, right);
    case Comparison::kIn:
      return contains(runtime, right, left);
    case Comparison::kNotIn:
      return !contains(runtime, right, left);
    default:
      return is_ordered(runtime, comparison, left, right);
  }
}

Value named(const Expression& expression, const Scope& scope) {
  if (const Value* found = scope.find(expression.name)) return *found;
  if (expression.name == "self") throw Failure("\"self\" is not supported");
  return Value::undefined(fmt::format("\"{}\" is undefined", expression.name));
}

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [key, value] : scope->values) {
      if (key == name) return &value;
    }
  }
  return nullptr;
}

void Scope::set(Budget& budget, std::string_view name, Value value) {
  for (auto& [key, old] : values) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  held.attach(budget, sizeof(Value) + sizeof(std::string));
  values.emplace_back(name, std::move(value));
}

Value Evaluator::evaluate(const Expression& expression, const ScopePtr& scope) {
  if (expression.type == ExpressionType::kConstant) return expression.constant;
  const Budget::Nested nested(runtime_.budget);
  return evaluate_type(expression, scope);
}

Value Evaluator::evaluate_type(const Expression& expression, const ScopePtr& scope) {
  const auto child = [&](size_t i) { return evaluate(*expression.children[i], scope); };
  switch (expression.type) {
    case ExpressionType::kConstant:
      return expression.constant;
    case ExpressionType::kName:
      return named(expression, *scope);
    case ExpressionType::kTuple:
      return runtime_.tuple(evaluate_all(expression, scope));
    case ExpressionType::kList:
      return runtime_.list(evaluate_all(expression, scope));
    case ExpressionType::kDict:
      return make_dict(expression, scope);
    case ExpressionType::kConcatenate:
      return concatenate(expression, scope);
    case ExpressionType::kAnd:
    case ExpressionType::kOr: {
      Value left = child(0);
      return is_true(runtime_, left) == (expression.type == ExpressionType::kOr) ? left : child(1);
    }
    case ExpressionType::kNot:
      return Value::boolean(!is_true(runtime_, child(0)));
    case ExpressionType::kCompare:
      return compare_all(expression, scope);
    case ExpressionType::kCalculate: {
      const Value left = child(0);
      return calculate(runtime_, expression.what, left, child(1));
    }
    case ExpressionType::kNegative:
      return negated(child(0));
    case ExpressionType::kPositive: {
      const Value value = child(0);
      if (value.is_undefined()) fail_undefined(value);
      if (!value.is_number()) fail_type("+", value);
      return value.is(Kind::kFloat) ? value : Value::integer(value.whole());
    }
    case ExpressionType::kAttribute:
      return attribute_of(runtime_, child(0), expression.name);
    case ExpressionType::kItem: {
      const Value holder = child(0);
      return item_of(runtime_, holder, child(1));
    }
    case ExpressionType::kSlice:
      return get_slice(expression, scope);
    case ExpressionType::kCall:
      return call_function(expression, scope);
    case ExpressionType::kFilter: {
      const Value value = child(0);
      return filter(runtime_, expression.name, value, evaluate(expression.arguments, scope));
    }
    case ExpressionType::kTest: {
      const Value value = child(0);
      return Value::boolean(
          test(runtime_, expression.name, value, evaluate(expression.arguments, scope)));
    }
    case ExpressionType::kConditional:
      return conditional(expression, scope);
    case ExpressionType::kAttributeOfNamespace:
      break;
  }
  return {};
}

std::vector<Value> Evaluator::evaluate_all(const Expression& expression, const ScopePtr& scope) {
  std::vector<Value> values;
  values.reserve(expression.children.size());
  for (const ExpressionPtr& child : expression.children) {
    values.push_back(evaluate(*child, scope));
  }
  return values;
}

Value Evaluator::make_dict(const Expression& expression, const ScopePtr& scope) {
  std::vector<std::pair<Value, Value>> pairs;
  for (size_t i = 0; i < expression.children.size(); i += 2) {
    Value key = evaluate(*expression.children[i], scope);
    pairs.emplace_back(std::move(key), evaluate(*expression.children[i + 1], scope));
  }
  return runtime_.dict(std::move(pairs));
}

Value Evaluator::concatenate(const Expression& expression, const ScopePtr& scope) {
  std::string text;
  for (const ExpressionPtr& child : expression.children) {
    runtime_.budget.append(text, printed(runtime_, evaluate(*child, scope)));
  }
  return runtime_.text(std::move(text));
}

Value Evaluator::compare_all(const Expression& expression, const ScopePtr& scope) {
  Value left = evaluate(*expression.children[0], scope);
  for (size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = evaluate(*expression.children[i + 1], scope);
    if (!is_in_order(runtime_, expression.comparisons[i], left, right)) {
      return Value::boolean(false);
    }
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Evaluator::get_slice(const Expression& expression, const ScopePtr& scope) {
  const Value holder = evaluate(*expression.children[0], scope);
  const auto part = [&](size_t i) {
    return expression.children[i] ? evaluate(*expression.children[i], scope) : Value::none();
  };
  Value start = part(1), stop = part(2);
  return slice_of(runtime_, holder, {std::move(start), std::move(stop), part(3)});
}

Value Evaluator::conditional(const Expression& expression, const ScopePtr& scope) {
  if (is_true(runtime_, evaluate(*expression.children[1], scope))) {
    return evaluate(*expression.children[0], scope);
  }
  if (expression.children[2]) return evaluate(*expression.children[2], scope);
  return Value::undefined("an expression with if has no else, and its condition is false");
}

Arguments Evaluator::evaluate(const CallArguments& arguments, const ScopePtr& scope) {
  Arguments result;
  result.positional.reserve(arguments.positional.size());
  for (const ExpressionPtr& one : arguments.positional) {
    result.positional.push_back(evaluate(*one, scope));
  }
  for (const auto& [name, one] : arguments.named) {
    result.named.emplace_back(name, evaluate(*one, scope));
  }
  if (arguments.list) {
    for (Value& item : all_items(runtime_, evaluate(*arguments.list, scope))) {
      result.positional.push_back(std::move(item));
    }
  }
  if (!arguments.dict) return result;
  const Value more = evaluate(*arguments.dict, scope);
  if (!more.is(Kind::kDict)) fail_type("**", more);
  for (const auto& [key, value] : more.dict().items) {
    if (!key.is_text()) throw Failure("the name of an argument is no text");
    for (const auto& [name, old] : result.named) {
      if (name == key.text()) throw Failure(fmt::format("\"{}\" is given twice", name));
    }
    result.named.emplace_back(key.text(), value);
  }
  return result;
}

Value Evaluator::call_function(const Expression& expression, const ScopePtr& scope,
                               const Value* caller) {
  const Value function = evaluate(*expression.children[0], scope);
  Arguments arguments = evaluate(expression.arguments, scope);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  return call(runtime_, function, arguments);
}

Value Evaluator::apply_filters(const Expression& expression, const ScopePtr& scope,
                               const Value& text) {
  const Budget::Nested nested(runtime_.budget);
  const ExpressionPtr& inner = expression.children[0];
  const Value value = inner ? apply_filters(*inner, scope, text) : text;
  return filter(runtime_, expression.name, value, evaluate(expression.arguments, scope));
}

void Evaluator::assign(const Expression& target, const ScopePtr& scope, const Value& value) {
  if (target.type == Expression::Type::kName) {
    scope->set(runtime_.budget, target.name, value);
    return;
  }
  if (target.type == Expression::Type::kAttributeOfNamespace) {
    return assign_attribute(target, scope, value);
  }
  const std::vector<Value> values = all_items(runtime_, value);
  if (values.size() != target.children.size()) {
    throw Failure(fmt::format("{} values cannot be assigned to {} names", values.size(),
                              target.children.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) assign(*target.children[i], scope, values[i]);
}

void Evaluator::assign_attribute(const Expression& target, const ScopePtr& scope,
                                 const Value& value) {
  const Value* found = scope->find(target.name);
  if (found == nullptr || !found->is(Kind::kNamespace)) {
    throw Failure(fmt::format("\"{}\" is no namespace, so it cannot be given \"{}\"", target.name,
                              target.attribute));
  }
  set_attribute(runtime_, *found, target.attribute, value);
}

}  // namespace predgen::jinja
