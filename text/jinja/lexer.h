#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace predgen::jinja {

struct Token {
  enum class Type {
    kData,           // text between tags
    kVariableBegin,  // {{
    kVariableEnd,
    kBlockBegin,  // {%
    kBlockEnd,
    kName,
    kText,
    kInteger,
    kFloat,
    kOperator,
    kEnd
  };
  Type type;
  std::string text;  // of data, names, texts and operators
  int line;
  Int integer = 0;
  double number = 0;

  bool is_operator(std::string_view what) const { return type == Type::kOperator && text == what; }
  bool is_name(std::string_view what) const { return type == Type::kName && text == what; }
};

/// The tokens of a template, as Jinja2 reads it with trim_blocks and lstrip_blocks. The last one is
/// kEnd. Failure that names the line.
std::vector<Token> read_tokens(std::string_view source);

/// The tokens of a template, one after the other. What does not fit is a Failure, which names the
/// line.
class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

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

  /// While it lives, one more expression or block is being read.
  class Nested {
   public:
    explicit Nested(TokenReader& reader);
    ~Nested() { --reader_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    TokenReader& reader_;
  };

 private:
  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

/// As a message names it.
std::string described(const Token& token);

}  // namespace predgen::jinja
