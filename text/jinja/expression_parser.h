#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {

/// Reads expressions as Jinja2 does: the same order of operators, also where it is odd.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip_operator(std::string_view what);
  bool skip_name(std::string_view what);
  void expect_operator(std::string_view what);
  void expect_name(std::string_view what);
  void expect(Token::Type type, const char* what);
  std::string name(const char* what);
  [[noreturn]] void fail(const std::string& why, int line = 0) const;

  ExpressionPtr expression(bool may_be_conditional = true);
  /// One expression, or several with commas; ends at `end`, a name.
  ExpressionPtr tuple(bool may_be_conditional = true, std::string_view end = {},
                      bool has_parentheses = false);
  /// What a value is assigned to.
  ExpressionPtr target(bool may_be_attribute, std::string_view end = {});
  /// `| a | b`, of `inner`; without `inner`, the first may come without its `|`.
  ExpressionPtr filters(ExpressionPtr inner, bool begins_inside = false);

  /// While it lives, one more expression or block is being read.
  class Nested {
   public:
    explicit Nested(ExpressionParser& parser);
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    ExpressionParser& parser_;
  };

  /// The names that are read while it lives.
  class NamesRead {
   public:
    explicit NamesRead(ExpressionParser& parser) : parser_(parser) {
      parser_.names_read_.push_back(this);
    }
    ~NamesRead() { parser_.names_read_.pop_back(); }
    NamesRead(const NamesRead&) = delete;
    NamesRead& operator=(const NamesRead&) = delete;
    bool caller = false, varargs = false, kwargs = false;

   private:
    ExpressionParser& parser_;
  };

 private:
  std::unique_ptr<Expression> made(Expression::Type type, int line) const;
  ExpressionPtr finished(std::unique_ptr<Expression> expression) const;
  ExpressionPtr made_of_two(Expression::Type type, ExpressionPtr left, ExpressionPtr right,
                            int line, Operator what = {}) const;
  ExpressionPtr or_expression();
  ExpressionPtr and_expression();
  ExpressionPtr not_expression();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool has_filters = true);
  ExpressionPtr primary(bool may_be_attribute = false);
  ExpressionPtr named();
  ExpressionPtr texts();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr inner);
  ExpressionPtr filters_and_tests(ExpressionPtr inner);
  ExpressionPtr subscript(ExpressionPtr inner);
  ExpressionPtr call(ExpressionPtr inner);
  ExpressionPtr test(ExpressionPtr inner);
  std::string dotted_name(const char* what);
  CallArguments call_arguments();
  bool is_tuple_end(std::string_view end) const;

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::vector<NamesRead*> names_read_;
};

}  // namespace predgen::jinja
