#include "text/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace predgen::jinja {

ExpressionPtr ExpressionParser::expression(bool may_be_conditional) {
  const Nested nested(*this);
  ExpressionPtr result = or_expression();
  while (may_be_conditional && current().is_name("if")) {
    auto conditional = made(ExpressionType::kConditional, next().line);
    ExpressionPtr condition = or_expression();
    ExpressionPtr otherwise = skip_name("else") ? expression() : nullptr;
    conditional->children.push_back(std::move(result));
    conditional->children.push_back(std::move(condition));
    conditional->children.push_back(std::move(otherwise));
    result = finished(std::move(conditional));
  }
  return result;
}

ExpressionPtr ExpressionParser::or_expression() {
  ExpressionPtr left = and_expression();
  while (current().is_name("or")) {
    const int line = next().line;
    left = made_of_two(ExpressionType::kOr, std::move(left), and_expression(), line);
  }
  return left;
}

ExpressionPtr ExpressionParser::and_expression() {
  ExpressionPtr left = not_expression();
  while (current().is_name("and")) {
    const int line = next().line;
    left = made_of_two(ExpressionType::kAnd, std::move(left), not_expression(), line);
  }
  return left;
}

ExpressionPtr ExpressionParser::not_expression() {
  if (!current().is_name("not")) return comparison();
  const Nested nested(*this);
  const int line = next().line;
  return made_of_two(ExpressionType::kNot, not_expression(), nullptr, line);
}

ExpressionPtr ExpressionParser::comparison() {
  constexpr std::array<std::pair<std::string_view, Comparison>, 6> kSigns = {
      {{"==", Comparison::kEqual},
       {"!=", Comparison::kUnequal},
       {"<", Comparison::kLess},
       {"<=", Comparison::kLessEqual},
       {">", Comparison::kGreater},
       {">=", Comparison::kGreaterEqual}}};
  auto result = made(ExpressionType::kCompare, current().line);
  ExpressionPtr first = sum();
  while (true) {
    const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& one) {
      return current().is_operator(one.first);
    });
    if (sign != kSigns.end()) {
      next();
      result->comparisons.push_back(sign->second);
    } else if (skip_name("in")) {
      result->comparisons.push_back(Comparison::kIn);
    } else if (current().is_name("not") && look().is_name("in")) {
      next();
      next();
      result->comparisons.push_back(Comparison::kNotIn);
    } else {
      break;
    }
    if (first) result->children.push_back(std::exchange(first, nullptr));
    result->children.push_back(sum());
  }
  if (first) return first;
  return finished(std::move(result));
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (current().is_operator("+") || current().is_operator("-")) {
    const Token& sign = next();
    left = made_of_two(ExpressionType::kCalculate, std::move(left), concatenation(), sign.line,
                       sign.text == "+" ? Operator::kAdd : Operator::kSubtract);
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!current().is_operator("~")) return first;
  auto result = made(ExpressionType::kConcatenate, current().line);
  result->children.push_back(std::move(first));
  while (skip_operator("~")) result->children.push_back(product());
  return finished(std::move(result));
}

ExpressionPtr ExpressionParser::product() {
  constexpr std::array<std::pair<std::string_view, Operator>, 4> kSigns = {
      {{"*", Operator::kMultiply},
       {"/", Operator::kDivide},
       {"//", Operator::kFloorDivide},
       {"%", Operator::kModulo}}};
  ExpressionPtr left = power();
  while (true) {
    const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& one) {
      return current().is_operator(one.first);
    });
    if (sign == kSigns.end()) return left;
    const int line = next().line;
    left = made_of_two(ExpressionType::kCalculate, std::move(left), power(), line, sign->second);
  }
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary();
  while (current().is_operator("**")) {
    const int line = next().line;
    left =
        made_of_two(ExpressionType::kCalculate, std::move(left), unary(), line, Operator::kPower);
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool has_filters) {
  const Nested nested(*this);
  ExpressionPtr result;
  if (current().is_operator("-") || current().is_operator("+")) {
    const Token& sign = next();
    result = made_of_two(sign.text == "-" ? ExpressionType::kNegative : ExpressionType::kPositive,
                         unary(false), nullptr, sign.line);
  } else {
    result = primary();
  }
  result = postfix(std::move(result));
  return has_filters ? filters_and_tests(std::move(result)) : std::move(result);
}

bool ExpressionParser::is_tuple_end(std::string_view end) const {
  return current().type == Token::Type::kVariableEnd || current().type == Token::Type::kBlockEnd ||
         current().is_operator(")") || (!end.empty() && current().is_name(end));
}

ExpressionPtr ExpressionParser::tuple(bool may_be_conditional, std::string_view end,
                                      bool has_parentheses) {
  auto result = made(ExpressionType::kTuple, current().line);
  bool is_tuple = false;
  while (!is_tuple_end(end)) {
    result->children.push_back(expression(may_be_conditional));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && result->children.size() == 1) {
    return std::move(result->children.front());
  }
  if (!is_tuple && !has_parentheses) {
    fail(fmt::format("expected an expression, not {}", described(current())));
  }
  return finished(std::move(result));
}

ExpressionPtr ExpressionParser::target(bool may_be_attribute, std::string_view end) {
  auto result = made(ExpressionType::kTuple, current().line);
  bool is_tuple = false;
  while (!is_tuple_end(end)) {
    result->children.push_back(primary(may_be_attribute));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && result->children.empty()) fail("expected a name");
  ExpressionPtr whole =
      !is_tuple ? std::move(result->children.front()) : finished(std::move(result));
  const auto check = [&](const Expression& one, const auto& self) -> void {
    if (one.type == ExpressionType::kTuple) {
      for (const ExpressionPtr& child : one.children) self(*child, self);
    } else if (one.type != ExpressionType::kName &&
               one.type != ExpressionType::kAttributeOfNamespace) {
      fail("only names can be assigned to", one.line);
    }
  };
  check(*whole, check);
  return whole;
}

}  // namespace predgen::jinja
