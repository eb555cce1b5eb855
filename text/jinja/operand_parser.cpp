#include "text/jinja/operand_parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace predgen::jinja {
namespace {

constexpr int kDeepest = 400;  // sums are as deep as they are long

}  // namespace

std::unique_ptr<Expression> OperandParser::made(ExpressionType type, int line) const {
  return std::make_unique<Expression>(Expression{.type = type, .line = line});
}

ExpressionPtr OperandParser::finished(std::unique_ptr<Expression> expression) const {
  int depth = 0;
  const auto look_at = [&](const ExpressionPtr& child) {
    if (child) depth = std::max(depth, child->depth);
  };
  for (const ExpressionPtr& child : expression->children) look_at(child);
  for (const ExpressionPtr& child : expression->arguments.positional) look_at(child);
  for (const auto& [key, child] : expression->arguments.named) look_at(child);
  look_at(expression->arguments.list);
  look_at(expression->arguments.dict);
  expression->depth = depth + 1;
  if (expression->depth > kDeepest) fail("an expression is too long or nested too deep");
  return expression;
}

ExpressionPtr OperandParser::made_of_two(ExpressionType type, ExpressionPtr left,
                                         ExpressionPtr right, int line, Operator what) const {
  auto result = made(type, line);
  result->what = what;
  result->children.push_back(std::move(left));
  if (right) result->children.push_back(std::move(right));
  return finished(std::move(result));
}

ExpressionPtr OperandParser::primary(bool may_be_attribute) {
  const Token& token = current();
  if (token.type == Token::Type::kName) {
    if (may_be_attribute && look().is_operator(".")) {
      auto result = made(ExpressionType::kAttributeOfNamespace, token.line);
      result->name = next().text;
      next();
      result->attribute = name("an attribute");
      return finished(std::move(result));
    }
    return named();
  }
  if (token.type == Token::Type::kText) return texts();
  if (token.type == Token::Type::kInteger || token.type == Token::Type::kFloat) {
    auto result = made(ExpressionType::kConstant, next().line);
    result->constant = token.type == Token::Type::kInteger ? Value::integer(token.integer)
                                                           : Value::real(token.number);
    return finished(std::move(result));
  }
  if (skip_operator("(")) {
    const Nested nested(*this);
    ExpressionPtr result = tuple(true, {}, /*has_parentheses=*/true);
    expect_operator(")");
    return result;
  }
  if (token.is_operator("[")) return list();
  if (token.is_operator("{")) return dict();
  fail(token.text.empty() ? "an expression is not finished"
                          : fmt::format("unexpected \"{}\"", token.text));
}

ExpressionPtr OperandParser::named() {
  const Token& token = next();
  const std::string_view text = token.text;
  if (text == "true" || text == "True" || text == "false" || text == "False" || text == "none" ||
      text == "None") {
    auto result = made(ExpressionType::kConstant, token.line);
    const bool is_none = text == "none" || text == "None";
    result->constant = is_none ? Value::none() : Value::boolean(text == "true" || text == "True");
    return finished(std::move(result));
  }
  for (NamesRead* names : names_read_) {
    names->caller = names->caller || text == "caller";
    names->varargs = names->varargs || text == "varargs";
    names->kwargs = names->kwargs || text == "kwargs";
  }
  auto result = made(ExpressionType::kName, token.line);
  result->name = token.text;
  return finished(std::move(result));
}

ExpressionPtr OperandParser::texts() {
  auto result = made(ExpressionType::kConstant, current().line);
  std::string text;
  while (current().type == Token::Type::kText) text += next().text;
  result->constant = {Kind::kText, std::make_shared<Text>(std::move(text), false)};
  return finished(std::move(result));
}

ExpressionPtr OperandParser::list() {
  const Nested nested(*this);
  auto result = made(ExpressionType::kList, next().line);
  while (!current().is_operator("]")) {
    result->children.push_back(expression());
    if (!skip_operator(",")) break;
  }
  expect_operator("]");
  return finished(std::move(result));
}

ExpressionPtr OperandParser::dict() {
  const Nested nested(*this);
  auto result = made(ExpressionType::kDict, next().line);
  while (!current().is_operator("}")) {
    result->children.push_back(expression());
    expect_operator(":");
    result->children.push_back(expression());
    if (!skip_operator(",")) break;
  }
  expect_operator("}");
  return finished(std::move(result));
}

ExpressionPtr OperandParser::postfix(ExpressionPtr inner) {
  while (true) {
    if (current().is_operator(".") || current().is_operator("[")) {
      inner = subscript(std::move(inner));
    } else if (current().is_operator("(")) {
      inner = call(std::move(inner));
    } else {
      return inner;
    }
  }
}

ExpressionPtr OperandParser::filters_and_tests(ExpressionPtr inner) {
  while (true) {
    if (current().is_operator("|")) {
      inner = filters(std::move(inner));
    } else if (current().is_name("is")) {
      inner = test(std::move(inner));
    } else if (current().is_operator("(")) {
      inner = call(std::move(inner));
    } else {
      return inner;
    }
  }
}

ExpressionPtr OperandParser::subscript(ExpressionPtr inner) {
  const Nested nested(*this);
  const Token& token = next();
  if (token.text == ".") {
    if (current().type == Token::Type::kInteger) {
      auto index = made(ExpressionType::kConstant, current().line);
      index->constant = Value::integer(next().integer);
      return made_of_two(ExpressionType::kItem, std::move(inner), finished(std::move(index)),
                         token.line);
    }
    auto result = made(ExpressionType::kAttribute, token.line);
    result->name = name("an attribute");
    result->children.push_back(std::move(inner));
    return finished(std::move(result));
  }
  const auto is_end = [&] { return current().is_operator("]") || current().is_operator(","); };
  if (current().is_operator("]")) {  // Jinja2 takes it for an empty tuple
    auto nothing = made(ExpressionType::kTuple, next().line);
    return made_of_two(ExpressionType::kItem, std::move(inner), finished(std::move(nothing)),
                       token.line);
  }
  ExpressionPtr first = current().is_operator(":") ? nullptr : expression();
  if (current().is_operator(":")) {
    auto result = made(ExpressionType::kSlice, token.line);
    result->children.push_back(std::move(inner));
    result->children.push_back(std::move(first));
    for (int i = 0; i < 2; ++i) {
      const bool has_more = skip_operator(":") && !is_end() && !current().is_operator(":");
      result->children.push_back(has_more ? expression() : nullptr);
    }
    if (!current().is_operator("]")) fail("a slice beside others is not supported");
    next();
    return finished(std::move(result));
  }
  if (current().is_operator(",")) {
    auto keys = made(ExpressionType::kTuple, token.line);
    keys->children.push_back(std::move(first));
    while (skip_operator(",") && !current().is_operator("]"))
      keys->children.push_back(expression());
    first = finished(std::move(keys));
  }
  expect_operator("]");
  return made_of_two(ExpressionType::kItem, std::move(inner), std::move(first), token.line);
}

CallArguments OperandParser::call_arguments() {
  const Nested nested(*this);
  CallArguments result;
  const int line = current().line;
  const auto require = [&](bool is_right) {
    if (!is_right) fail("the arguments of a call are not in order", line);
  };
  expect_operator("(");
  while (!current().is_operator(")")) {
    if (skip_operator("*")) {
      require(!result.list && !result.dict);
      result.list = expression();
    } else if (skip_operator("**")) {
      require(!result.dict);
      result.dict = expression();
    } else if (current().type == Token::Type::kName && look().is_operator("=")) {
      require(!result.dict);
      std::string key = next().text;
      next();
      result.named.emplace_back(std::move(key), expression());
    } else {
      require(!result.list && !result.dict && result.named.empty());
      result.positional.push_back(expression());
    }
    if (!skip_operator(",")) break;
  }
  expect_operator(")");
  return result;
}

ExpressionPtr OperandParser::call(ExpressionPtr inner) {
  auto result = made(ExpressionType::kCall, current().line);
  result->arguments = call_arguments();
  result->children.push_back(std::move(inner));
  return finished(std::move(result));
}

std::string OperandParser::dotted_name(const char* what) {
  std::string result = name(what);
  while (skip_operator(".")) result += "." + name(what);
  return result;
}

ExpressionPtr OperandParser::filters(ExpressionPtr inner, bool begins_inside) {
  while (begins_inside || skip_operator("|")) {
    begins_inside = false;
    auto result = made(ExpressionType::kFilter, current().line);
    result->name = dotted_name("a filter");
    if (current().is_operator("(")) result->arguments = call_arguments();
    result->children.push_back(std::move(inner));
    inner = finished(std::move(result));
  }
  return inner;
}

ExpressionPtr OperandParser::test(ExpressionPtr inner) {
  const int line = next().line;
  const bool is_negated = skip_name("not");
  auto result = made(ExpressionType::kTest, line);
  result->name = dotted_name("a test");
  const Token& token = current();
  const bool may_be_argument =
      token.type == Token::Type::kText || token.type == Token::Type::kInteger ||
      token.type == Token::Type::kFloat || token.is_operator("[") || token.is_operator("{") ||
      (token.type == Token::Type::kName && token.text != "else" && token.text != "or" &&
       token.text != "and");
  if (token.is_operator("(")) {
    result->arguments = call_arguments();
  } else if (may_be_argument) {
    if (token.is_name("is")) fail("tests cannot be chained with \"is\"");
    result->arguments.positional.push_back(postfix(primary()));
  }
  result->children.push_back(std::move(inner));
  ExpressionPtr whole = finished(std::move(result));
  return is_negated ? made_of_two(ExpressionType::kNot, std::move(whole), nullptr, line)
                    : std::move(whole);
}

}  // namespace predgen::jinja
