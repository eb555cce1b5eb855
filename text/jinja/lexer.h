#pragma once

#include <string>
#include <string_view>
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

}  // namespace predgen::jinja
