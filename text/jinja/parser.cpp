#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "text/jinja/expression_parser.h"
#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {
namespace {

constexpr size_t kMaxSource = size_t{1} << 20;
using Ends = std::vector<std::string_view>;

class Parser {
 public:
  explicit Parser(std::string_view source) : in_(read_tokens(source)) {}

  Body run() {
    Body body = statements({});
    return body;
  }

 private:
  /// Up to a tag that begins with one of `ends`, which stays to be read behind its `{%`.
  Body statements(const Ends& ends) {
    const ExpressionParser::Nested nested(in_);
    Body body;
    while (in_.current().type != Token::Type::kEnd) {
      const Token& token = in_.next();
      if (token.type == Token::Type::kData) {
        body.push_back({.type = StatementType::kData, .line = token.line, .text = token.text});
      } else if (token.type == Token::Type::kVariableBegin) {
        Statement print{.type = StatementType::kPrint, .line = token.line};
        print.expressions.push_back(in_.tuple());
        in_.expect(Token::Type::kVariableEnd, "}}");
        body.push_back(std::move(print));
      } else {
        const bool is_end = std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
          return in_.current().is_name(end);
        });
        if (is_end) return body;
        body.push_back(statement());
        in_.expect(Token::Type::kBlockEnd, "%}");
      }
    }
    if (!ends.empty()) in_.fail(fmt::format("{} is missing", ends.back()));
    return body;
  }

  /// The rest of a tag, and the statements behind it.
  Body block(const Ends& ends) {
    in_.skip_operator(":");
    in_.expect(Token::Type::kBlockEnd, "%}");
    return statements(ends);
  }
  /// Likewise, and the one end.
  Body whole_block(std::string_view end) {
    Body body = block({end});
    in_.next();
    return body;
  }
  /// A block in which the loops around it cannot be left.
  Body closed_block(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = whole_block(end);
    loops_ = loops;
    return body;
  }

  Statement statement() {
    const Token& token = in_.current();
    const std::string tag = in_.name("the name of a tag");
    Statement result{.type = StatementType::kScope, .line = token.line};
    if (tag == "if") {
      read_if(result);
    } else if (tag == "for") {
      read_for(result);
    } else if (tag == "set") {
      read_set(result);
    } else if (tag == "macro") {
      result.type = StatementType::kMacro;
      result.signature.name = in_.name("a name");
      read_signature(result.signature);
      read_macro_body(result, "endmacro");
    } else if (tag == "call") {
      result.type = StatementType::kCall;
      result.signature.name = "caller";
      if (in_.current().is_operator("(")) read_signature(result.signature);
      result.expressions.push_back(in_.expression());
      if (result.expressions[0]->type != Expression::Type::kCall) in_.fail("expected a call");
      read_macro_body(result, "endcall");
    } else if (tag == "filter") {
      result.type = StatementType::kFilter;
      result.expressions.push_back(in_.filters(nullptr, /*begins_inside=*/true));
      result.bodies.push_back(whole_block("endfilter"));
    } else if (tag == "with") {
      read_with(result);
    } else if (tag == "generation") {
      result.bodies.push_back(closed_block("endgeneration"));
    } else if (tag == "block") {
      read_block(result);
    } else if (tag == "print") {
      result.type = StatementType::kPrint;
      while (in_.current().type != Token::Type::kBlockEnd) {
        result.expressions.push_back(in_.expression());
        if (!in_.skip_operator(",")) break;
      }
    } else if (tag == "break" || tag == "continue") {
      if (loops_ == 0) in_.fail(fmt::format("{} stands outside a loop", tag), token.line);
      result.type = tag == "break" ? StatementType::kBreak : StatementType::kContinue;
    } else {
      refuse(tag, token.line);
    }
    return result;
  }

  [[noreturn]] void refuse(const std::string& tag, int line) {
    constexpr std::array<std::string_view, 5> kOfOtherFiles = {"extends", "include", "import",
                                                               "from", "autoescape"};
    const bool is_known =
        std::find(kOfOtherFiles.begin(), kOfOtherFiles.end(), tag) != kOfOtherFiles.end();
    in_.fail(fmt::format("the tag \"{}\" is not {}", tag, is_known ? "supported" : "known here"),
             line);
  }

  void read_if(Statement& result) {
    result.type = StatementType::kIf;
    while (true) {
      result.expressions.push_back(in_.tuple(/*may_be_conditional=*/false));
      result.bodies.push_back(block({"elif", "else", "endif"}));
      const std::string end = in_.next().text;
      if (end == "elif") continue;
      if (end == "else") result.bodies.push_back(whole_block("endif"));
      return;
    }
  }

  void read_for(Statement& result) {
    result.type = StatementType::kFor;
    result.expressions.push_back(in_.target(/*may_be_attribute=*/false, "in"));
    in_.expect_name("in");
    result.expressions.push_back(in_.tuple(/*may_be_conditional=*/false, "recursive"));
    result.expressions.push_back(in_.skip_name("if") ? in_.expression() : nullptr);
    result.is_recursive = in_.skip_name("recursive");
    ++loops_;
    result.bodies.push_back(block({"else", "endfor"}));
    --loops_;
    result.bodies.emplace_back();
    if (in_.next().text == "else") result.bodies.back() = whole_block("endfor");
  }

  void read_set(Statement& result) {
    result.expressions.push_back(in_.target(/*may_be_attribute=*/true));
    if (in_.skip_operator("=")) {
      result.type = StatementType::kSet;
      result.expressions.push_back(in_.tuple());
      return;
    }
    result.type = StatementType::kSetBlock;
    result.expressions.push_back(in_.filters(nullptr));
    result.bodies.push_back(whole_block("endset"));
  }

  void read_with(Statement& result) {
    result.type = StatementType::kWith;
    while (in_.current().type != Token::Type::kBlockEnd && !in_.current().is_operator(":")) {
      if (!result.expressions.empty()) in_.expect_operator(",");
      ExpressionPtr target = in_.target(/*may_be_attribute=*/false);
      in_.expect_operator("=");
      result.expressions.push_back(std::move(target));
      result.expressions.push_back(in_.expression());
    }
    result.bodies.push_back(whole_block("endwith"));
  }

  void read_block(Statement& result) {
    const std::string name = in_.name("a name");
    const bool is_scoped = in_.skip_name("scoped");
    if (in_.current().is_name("required")) in_.fail("a required block is not supported");
    result.type = is_scoped ? StatementType::kScope : StatementType::kBlock;
    result.bodies.push_back(closed_block("endblock"));
    in_.skip_name(name);
  }

  void read_signature(Signature& signature) {
    in_.expect_operator("(");
    while (!in_.current().is_operator(")")) {
      if (!signature.parameters.empty()) in_.expect_operator(",");
      signature.parameters.push_back(in_.name("a parameter"));
      if (in_.skip_operator("=")) {
        signature.defaults.push_back(in_.expression());
      } else if (!signature.defaults.empty()) {
        in_.fail("a parameter without a default follows one that has one");
      }
    }
    in_.expect_operator(")");
  }

  void read_macro_body(Statement& result, std::string_view end) {
    const ExpressionParser::NamesRead names(in_);
    result.bodies.push_back(closed_block(end));
    result.signature.takes_caller = names.caller;
    result.signature.takes_more = names.varargs;
    result.signature.takes_named = names.kwargs;
  }

  ExpressionParser in_;
  int loops_ = 0;  // around the current statement, which may leave them
};

}  // namespace

Program parse(std::string_view source) {
  if (source.size() > kMaxSource) throw TooMuch("the template is longer than 1 MiB");
  return {Parser(source).run()};
}

}  // namespace predgen::jinja
