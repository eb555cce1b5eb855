#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {

/// Reads what operators stand between: literals, names, calls, filters and tests. What stands in
/// their brackets is read by the parser of whole expressions, which is built on this one.
class OperandParser : public TokenReader {
 public:
  using TokenReader::TokenReader;
  virtual ~OperandParser() = default;
  OperandParser(const OperandParser&) = delete;
  OperandParser& operator=(const OperandParser&) = delete;

  virtual ExpressionPtr expression(bool may_be_conditional = true) = 0;
  /// One expression, or several with commas; ends at `end`, a name.
  virtual ExpressionPtr tuple(bool may_be_conditional = true, std::string_view end = {},
                              bool has_parentheses = false) = 0;
  /// `| a | b`, of `inner`; without `inner`, the first may come without its `|`.
  ExpressionPtr filters(ExpressionPtr inner, bool begins_inside = false);

  /// The names that are read while it lives.
  class NamesRead {
   public:
    explicit NamesRead(OperandParser& parser) : parser_(parser) {
      parser_.names_read_.push_back(this);
    }
    ~NamesRead() { parser_.names_read_.pop_back(); }
    NamesRead(const NamesRead&) = delete;
    NamesRead& operator=(const NamesRead&) = delete;
    bool caller = false, varargs = false, kwargs = false;

   private:
    OperandParser& parser_;
  };

 protected:
  ExpressionPtr primary(bool may_be_attribute = false);
  ExpressionPtr postfix(ExpressionPtr inner);
  ExpressionPtr filters_and_tests(ExpressionPtr inner);
  std::unique_ptr<Expression> made(Expression::Type type, int line) const;
  ExpressionPtr finished(std::unique_ptr<Expression> expression) const;
  ExpressionPtr made_of_two(Expression::Type type, ExpressionPtr left, ExpressionPtr right,
                            int line, Operator what = {}) const;

 private:
  ExpressionPtr named();
  ExpressionPtr texts();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr subscript(ExpressionPtr inner);
  ExpressionPtr call(ExpressionPtr inner);
  ExpressionPtr test(ExpressionPtr inner);
  std::string dotted_name(const char* what);
  CallArguments call_arguments();

  std::vector<NamesRead*> names_read_;
};

}  // namespace predgen::jinja
