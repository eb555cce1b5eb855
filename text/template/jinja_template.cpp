#include "text/template/jinja_template.h"

#include <jinja/lexer.h>
#include <jinja/parser.h>
#include <jinja/runtime.h>

#include <array>
#include <string_view>

#include "core/text.h"
#include "text/template/jinja_shim/jinja_limits.h"

namespace predgen {

struct JinjaTemplate::Program {
  std::string where, source;
  jinja::program body;
};

namespace {

/// Not a std::exception, which the engine would wrap in its own.
struct Raised {
  std::string message;
};

/// The engine's messages show an excerpt of the source over several lines: keeps the place ("line
/// 2, column 3", if there is one) and what is wrong.
std::string one_line(const std::string& message) {
  constexpr std::string_view kError = "Error: ", kPlace = " at line ";
  const size_t error = message.rfind(kError);
  if (error == std::string::npos) return first_line(message);
  std::string text = message.substr(error + kError.size());
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const size_t begin = message.find(kPlace);
  const size_t end = message.find(" in source", begin);
  if (begin == std::string::npos || end == std::string::npos) return text;
  return fmt::format("{}: {}", message.substr(begin + 4, end - begin - 4), text);
}

/// The engine drops the first character of "x {% .." by mistake; an empty output in front helps.
std::string readable_source(const std::string& source) {
  const size_t brace = source.find('{');
  const bool is_hit = brace != std::string::npos && brace > 0 &&
                      std::string_view(" \t\r\n").find(source[0]) == std::string_view::npos &&
                      source.find_first_not_of(" \t", 1) == brace;
  std::string result = is_hit ? "{{''}}" : "";
  result += source;
  return result;
}

/// Whether the statement whose name is token `at` has a body that an "end.." closes.
bool opens_block(const std::vector<jinja::token>& tokens, size_t at) {
  const std::string& name = tokens[at].value;
  if (name != "set") {
    return name == "if" || name == "for" || name == "macro" || name == "call" || name == "filter";
  }
  while (at < tokens.size() && tokens[at].t != jinja::token::close_statement) {
    if (tokens[at++].t == jinja::token::equals) return false;
  }
  return true;
}

/// The parser recurses per bracket, block and prefix; its trees are as deep as sums are
/// long.
void check_size(const std::vector<jinja::token>& tokens) {
  constexpr size_t kMaxTokens = 20'000;
  constexpr int kMaxBrackets = 60, kMaxBlocks = 60, kMaxChain = 500;
  using jinja::token;
  if (tokens.size() > kMaxTokens) JinjaLimits::fail("the template is too long");
  int brackets = 0, blocks = 0, chain = 0;
  for (size_t at = 0; at < tokens.size(); ++at) {
    const token::type type = tokens[at].t;
    if (type == token::open_paren || type == token::open_square_bracket ||
        type == token::open_curly_bracket) {
      ++brackets;
    } else if (type == token::close_paren || type == token::close_square_bracket ||
               type == token::close_curly_bracket) {
      --brackets;
    }
    const bool begins =
        type == token::text || type == token::open_expression || type == token::open_statement;
    if (begins) brackets = 0;
    if (type == token::open_statement && at + 1 < tokens.size()) {
      if (opens_block(tokens, at + 1)) ++blocks;
      if (tokens[at + 1].value.starts_with("end")) --blocks;
    }
    chain = begins || type == token::comma ? 0 : chain + 1;
    if (brackets > kMaxBrackets || blocks > kMaxBlocks || chain > kMaxChain) {
      JinjaLimits::fail("the template has an expression that is too long or nested too deep");
    }
  }
}

jinja::value strftime(const jinja::func_args& arguments, const std::tm& now) {
  arguments.ensure_vals<jinja::value_string>();
  const std::string format = arguments.get_pos(0)->as_string().str();
  std::array<char, 256> buffer{};
  const size_t length = std::strftime(buffer.data(), buffer.size(), format.c_str(), &now);
  return jinja::mk_val<jinja::value_string>(std::string(buffer.data(), length));
}

}  // namespace

JinjaTemplate::JinjaTemplate(const std::string& source, const std::string& where) {
  const auto program = std::make_shared<Program>();
  program->where = where;
  program->source = readable_source(source);
  try {
    const jinja::lexer_result lexed = jinja::lexer().tokenize(program->source);
    check_size(lexed.tokens);
    program->body = jinja::parse_from_tokens(lexed);
  } catch (const std::exception& error) {
    throw UserError("{}: {}", where, one_line(error.what()));
  }
  program_ = program;
}

std::string JinjaTemplate::render(const Json& variables, const std::tm& now) const {
  try {
    JinjaLimits::reset();
    jinja::context context(program_->source);
    jinja::global_from_json(context, variables, /*mark_input=*/false);
    const auto define = [&](const std::string& name, const jinja::func_handler& function) {
      context.set_val(name, jinja::mk_val<jinja::value_func>(name, function));
    };
    define("strftime_now", [&](const jinja::func_args& args) { return strftime(args, now); });
    define("raise_exception", [](const jinja::func_args& args) -> jinja::value {
      throw Raised{args.get_pos(0)->as_string().str()};
    });
    const jinja::value_array results = jinja::runtime(context).execute(program_->body);
    return jinja::runtime::gather_string_parts(results)->as_string().str();
  } catch (const Raised& raised) {
    throw TemplateRaised("{} says: {}", program_->where, raised.message);
  } catch (const std::exception& error) {
    throw UserError("{}: {}", program_->where, one_line(error.what()));
  }
}

}  // namespace predgen
