#include "text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja/literals.h"
#include "text/jinja/python_text.h"
#include "text/jinja/value.h"

namespace predgen::jinja {
namespace {

constexpr size_t kMaxTokens = 200'000;

/// With one kind of line end, and without the last one.
std::string normalized(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      result += '\n';
    } else {
      result += source[i];
    }
  }
  if (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) read_data();
    add(Token::Type::kEnd);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(fmt::format("line {}: {}", line_, why));
  }

  std::string_view rest() const { return std::string_view(text_).substr(at_); }

  void add(Token::Type type, std::string_view text = {}) {
    if (tokens_.size() >= kMaxTokens) fail("the template is too long");
    tokens_.push_back({.type = type, .text = std::string(text), .line = line_});
  }

  void move_to(size_t at) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                         text_.begin() + static_cast<ptrdiff_t>(at), '\n'));
    at_ = at;
  }

  size_t behind_space(size_t at) const {
    while (at < text_.size()) {
      size_t next = at;
      if (!is_space_code(next_code(text_, next))) break;
      at = next;
    }
    return at;
  }

  /// Adds the text before a tag whose sign ('-', '+' or another) is given.
  void add_data(std::string_view data, char sign, bool is_variable) {
    if (sign == '-') {
      data = stripped(data, std::nullopt, false, true);
    } else if (sign != '+' && !is_variable) {
      const size_t newline = data.rfind('\n');
      const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      const std::string_view last = data.substr(begin);
      const bool is_blank = !last.empty() && stripped(last, std::nullopt, true, false).empty();
      if (is_blank && (begin > 0 || is_line_start_)) data = data.substr(0, begin);
    }
    if (!data.empty()) add(Token::Type::kData, data);
  }

  void read_data() {
    size_t tag = text_.find('{', at_);
    while (tag != std::string::npos &&
           (tag + 1 >= text_.size() ||
            std::string_view("{%#").find(text_[tag + 1]) == std::string_view::npos)) {
      tag = text_.find('{', tag + 1);
    }
    if (tag == std::string::npos) {
      add(Token::Type::kData, rest());
      return move_to(text_.size());
    }
    const char kind = text_[tag + 1];
    const char sign = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    add_data(std::string_view(text_).substr(at_, tag - at_), sign, kind == '{');
    move_to(tag);
    const size_t inside = tag + 2 + (sign == '-' || sign == '+' ? 1 : 0);
    if (kind == '#') return read_comment(inside);
    if (kind == '%' && read_raw(inside)) return;
    add(kind == '{' ? Token::Type::kVariableBegin : Token::Type::kBlockBegin);
    move_to(inside);
    read_tag(kind == '{');
  }

  /// Moves behind the end of a tag at `end`, and what it removes.
  void pass_end(size_t end, bool is_block) {
    const char sign = text_[end];
    size_t at = end + (sign == '-' || sign == '+' ? 1 : 0) + 2;
    if (sign == '-') {
      at = behind_space(at);
    } else if (is_block && sign != '+' && at < text_.size() && text_[at] == '\n') {
      ++at;
    }
    is_line_start_ = text_[at - 1] == '\n';
    move_to(at);
  }

  void read_comment(size_t inside) {
    const size_t end = text_.find("#}", inside);
    if (end == std::string::npos) fail("a comment has no end");
    const char before = text_[end - 1];
    const bool has_sign = end > inside && (before == '-' || before == '+');
    pass_end(has_sign ? end - 1 : end, /*is_block=*/true);
  }

  /// Where a `%}` begins behind the word at `at`, or nothing.
  size_t end_of_word(size_t at, std::string_view word) const {
    at = behind_space(at);
    if (std::string_view(text_).substr(at, word.size()) != word) return std::string::npos;
    at = behind_space(at + word.size());
    const size_t end = at + (at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? 1 : 0);
    return std::string_view(text_).substr(end, 2) == "%}" ? at : std::string::npos;
  }

  bool read_raw(size_t inside) {
    const size_t end = end_of_word(inside, "raw");
    if (end == std::string::npos || text_[end] == '+') return false;
    pass_end(end, /*is_block=*/false);
    for (size_t tag = text_.find("{%", at_); tag != std::string::npos;
         tag = text_.find("{%", tag + 1)) {
      const char sign = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
      const size_t close = end_of_word(tag + 2 + (sign == '-' || sign == '+' ? 1 : 0), "endraw");
      if (close == std::string::npos) continue;
      add_data(std::string_view(text_).substr(at_, tag - at_), sign, /*is_variable=*/false);
      pass_end(close, /*is_block=*/true);
      return true;
    }
    fail("raw has no endraw");
  }

  bool is_tag_end(bool is_variable) const {
    if (!brackets_.empty()) return false;
    const std::string_view close = is_variable ? "}}" : "%}";
    const bool has_sign = rest().starts_with('-') || (!is_variable && rest().starts_with('+'));
    return rest().substr(has_sign ? 1 : 0).starts_with(close);
  }

  void read_tag(bool is_variable) {
    brackets_.clear();
    while (true) {
      move_to(behind_space(at_));
      if (at_ == text_.size()) fail("a tag has no end");
      if (is_tag_end(is_variable)) {
        add(is_variable ? Token::Type::kVariableEnd : Token::Type::kBlockEnd);
        return pass_end(at_, !is_variable);
      }
      read_token();
    }
  }

  void read_token() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return read_text(c);
    if (c >= '0' && c <= '9') return read_number();
    size_t end = at_;
    if (is_word(next_code(text_, end))) {
      size_t next = end;
      while (next < text_.size() && is_word(next_code(text_, next))) end = next;
      add(Token::Type::kName, std::string_view(text_).substr(at_, end - at_));
      return move_to(end);
    }
    read_operator(c);
  }

  void read_text(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) fail("a text has no end");
    try {
      add(Token::Type::kText,
          unescaped_literal(std::string_view(text_).substr(at_ + 1, end - at_ - 1)));
    } catch (const TooMuch&) {
      throw;
    } catch (const Failure& failure) {
      if (std::string_view(failure.what()).starts_with("line ")) throw;
      fail(failure.what());
    }
    move_to(end + 1);
  }

  void read_number() {
    const bool is_behind_dot = at_ > 0 && text_[at_ - 1] == '.';
    const NumberLiteral number = read_number_literal(rest(), !is_behind_dot);
    if (!number.fits) fail("a number has more than 128 bits");
    add(number.is_float ? Token::Type::kFloat : Token::Type::kInteger,
        rest().substr(0, number.length));
    tokens_.back().integer = number.integer;
    tokens_.back().number = number.number;
    move_to(at_ + number.length);
  }

  void read_operator(char c) {
    constexpr std::array<std::string_view, 26> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](std::string_view one) { return rest().starts_with(one); });
    if (found == kOperators.end()) fail(fmt::format("unexpected character '{}'", c));
    if (c == '(' || c == '[' || c == '{') brackets_ += c;
    if (c == ')' || c == ']' || c == '}') {
      const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (brackets_.empty() || brackets_.back() != open) fail(fmt::format("unexpected '{}'", c));
      brackets_.pop_back();
    }
    add(Token::Type::kOperator, *found);
    move_to(at_ + found->size());
  }

  const std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool is_line_start_ = true;
  std::string brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view source) { return Lexer(source).run(); }

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
