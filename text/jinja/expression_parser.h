#pragma once

#include <string_view>

#include "text/jinja/operand_parser.h"

namespace predgen::jinja {

/// Reads expressions as Jinja2 does: the same order of operators, also where it is odd.
class ExpressionParser : public OperandParser {
 public:
  using OperandParser::OperandParser;

  ExpressionPtr expression(bool may_be_conditional = true) override;
  ExpressionPtr tuple(bool may_be_conditional = true, std::string_view end = {},
                      bool has_parentheses = false) override;
  /// What a value is assigned to.
  ExpressionPtr target(bool may_be_attribute, std::string_view end = {});

 private:
  ExpressionPtr or_expression();
  ExpressionPtr and_expression();
  ExpressionPtr not_expression();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool has_filters = true);
  bool is_tuple_end(std::string_view end) const;
};

}  // namespace predgen::jinja
