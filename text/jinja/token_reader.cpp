#include "text/jinja/token_reader.h"

#include <fmt/format.h>

#include "text/jinja/value.h"

namespace predgen::jinja {
namespace {

constexpr int kMaxNesting = 120;  // brackets and blocks

}  // namespace

std::string described(const Token& token) {
  switch (token.type) {
    case Token::Type::kEnd:
      return "the end of the template";
    case Token::Type::kVariableEnd:
      return "}}";
    case Token::Type::kBlockEnd:
      return "%}";
    default:
      return fmt::format("\"{}\"", token.text);
  }
}

TokenReader::Nested::Nested(TokenReader& reader) : reader_(reader) {
  if (reader_.nesting_ >= kMaxNesting) reader_.fail("brackets or blocks are nested too deep");
  ++reader_.nesting_;
}

void TokenReader::fail(const std::string& why, int line) const {
  throw Failure(fmt::format("line {}: {}", line > 0 ? line : current().line, why));
}

bool TokenReader::skip_operator(std::string_view what) {
  if (!current().is_operator(what)) return false;
  next();
  return true;
}

bool TokenReader::skip_name(std::string_view what) {
  if (!current().is_name(what)) return false;
  next();
  return true;
}

void TokenReader::expect_operator(std::string_view what) {
  if (!skip_operator(what)) fail(fmt::format("expected {}, not {}", what, described(current())));
}

void TokenReader::expect_name(std::string_view what) {
  if (!skip_name(what)) fail(fmt::format("expected {}, not {}", what, described(current())));
}

void TokenReader::expect(Token::Type type, const char* what) {
  if (current().type != type) fail(fmt::format("expected {}, not {}", what, described(current())));
  next();
}

std::string TokenReader::name(const char* what) {
  if (current().type != Token::Type::kName) {
    fail(fmt::format("expected {}, not {}", what, described(current())));
  }
  return next().text;
}

}  // namespace predgen::jinja
