#include "text/grammar/call_grammar.h"

#include <vector>

#include "core/error.h"
#include "text/thoughts.h"

namespace predgen {
namespace {

Json literal(const std::string& text) { return {{"type", "const_string"}, {"value", text}}; }
Json by_grammar(const std::string& ebnf) { return {{"type", "grammar"}, {"grammar", ebnf}}; }
Json sequence(const Json& elements) { return {{"type", "sequence"}, {"elements", elements}}; }
Json repeated(const Json& content) { return {{"type", "star"}, {"content", content}}; }
Json maybe(const std::string& text) { return {{"type", "optional"}, {"content", literal(text)}}; }
Json any_of(const Json& elements) {
  return elements.size() == 1 ? elements.front() : Json{{"type", "or"}, {"elements", elements}};
}

/// How calls look: `open`, then each function's beginning, its arguments and `close`, then `end`.
/// Another call follows `between`.
struct CallForm {
  std::string open{}, name_begin{}, name_end{}, close{}, end{}, between{};
  bool is_written_out = false;  // in free text a call may lack the mark
};

CallForm form_of(const Tokenizer& tokenizer) {
  const std::string name = R"({"name": ")";
  switch (tokenizer.tool_format()) {
    case ToolFormat::kHermes:
      return {.open = "<tool_call>",
              .name_begin = "\n" + name,
              .name_end = R"(", "arguments": )",
              .close = "}\n</tool_call>",
              .between = "\n<tool_call>",
              .is_written_out = true};
    case ToolFormat::kLlama:
      return {
          .name_begin = name, .name_end = R"(", "parameters": )", .close = "}", .between = "; "};
    case ToolFormat::kMistral:
      // Vocabularies with the mark [ARGS] have the newer form.
      if (tokenizer.encode_special("[ARGS]").size() == 1) {
        return {.open = "[TOOL_CALLS]", .name_end = "[ARGS]", .between = "[TOOL_CALLS]"};
      }
      return {.open = "[TOOL_CALLS]",
              .name_begin = name,
              .name_end = R"(", "arguments": )",
              .close = "}",
              .end = "]",
              .between = ", "};
    case ToolFormat::kHarmony:  // GrammarCompiler's
    case ToolFormat::kNone:
      break;
  }
  throw UserError("the model's chat template has no tools, or an unknown form of calls");
}

/// Free text of a model whose calls are JSON without a mark: it does not begin like one.
constexpr const char* kNoJson = "root ::= \"\" | [^{ \\t\\r\\n] [\\u0000-\\U0010ffff]*";

/// The rest of a call that is written out in free text, after the function's name. `is_last`:
/// nothing follows but the end of its list or its doubled brace.
Json written_rest(const std::string& arguments, bool is_last) {
  const std::string space = " [ \\t\\r\\n]* ";
  const std::string close = is_last ? R"( ([ \t\r\n]* ("]" | "}"))?)" : "";
  const std::string key = R"(("\"arguments\"" | "\"parameters\""))";
  return sequence(
      {by_grammar("root ::=" + space + R"(",")" + space + key + space + R"(":")" + space),
       by_grammar(arguments), by_grammar("root ::=" + space + R"("}")" + close)});
}

}  // namespace

Json call_format(const AnswerRules& rules, const Tokenizer& tokenizer,
                 const std::function<std::string(const Json& function)>& arguments,
                 const Json& form) {
  const CallForm calls = form_of(tokenizer);
  const bool may_be_free = rules.calls != AnswerRules::Calls::kRequired && form.is_null();
  Json bodies = Json::array();  // of calls, after the mark
  Json begins = Json::array();  // of calls in free text, each with what follows
  for (const Json& tool : Json::parse(rules.tools.json)) {
    const Json& function = tool["function"];
    const std::string name = function["name"].get<std::string>();
    if (!rules.only_tool.empty() && name != rules.only_tool) continue;
    const std::string grammar = arguments(function);
    if (calls.is_written_out && may_be_free) {
      const Json rest = written_rest(grammar, !rules.has_many_calls);
      for (const char* key : {"\"name\": \"", "\"name\":\""}) {
        begins.push_back(Json::array({key + name + "\"", rest}));
      }
    }
    bodies.push_back(
        sequence({literal(calls.name_begin + name + calls.name_end), by_grammar(grammar)}));
    if (!calls.close.empty()) bodies.back()["elements"].push_back(literal(calls.close));
  }
  if (bodies.empty()) {
    throw UserError("tool_choice names a function that does not exist: '{}'", rules.only_tool);
  }
  const Json body = any_of(bodies);
  const bool is_list = !calls.end.empty();
  Json some = Json::array({body});  // what comes after the first mark
  if (rules.has_many_calls) {
    some.push_back(repeated(sequence({literal(calls.between), body})));
  }
  if (is_list) {
    some.insert(some.begin(), literal("["));
    some.push_back(literal(calls.end));
  }
  const bool is_required = rules.calls == AnswerRules::Calls::kRequired;
  Json only = some;
  if (!calls.open.empty()) only.insert(only.begin(), literal(calls.open));
  if (is_required) return sequence(only);
  if (!form.is_null()) return any_of({sequence(only), form});
  if (calls.open.empty()) return any_of({sequence(only), by_grammar(kNoJson)});
  // A model that opened a call by itself may leave white space out, or put some.
  Json rest = sequence(some);
  if (calls.name_begin.starts_with('\n')) {
    Json loose = Json::array();
    for (Json one : bodies) {
      Json& begin = one["elements"][0]["value"];
      begin = begin.get<std::string>().substr(1);
      one["elements"].back() = sequence({literal("}"), maybe("\n"), literal("</tool_call>")});
      loose.push_back(sequence({maybe("\n"), one}));
    }
    rest = any_of(loose);
  } else if (is_list) {
    rest["elements"].insert(rest["elements"].begin(), maybe(" "));
  }
  begins.push_back(Json::array({calls.open, rest}));
  return {{"type", "dispatch"}, {"rules", begins}, {"loop", rules.has_many_calls && !is_list}};
}

Json after_thought(const Json& format) {
  Json ends = Json::array();
  for (const std::string& mark : closing_thought_marks()) ends.push_back(mark);
  const Json thought{
      {"type", "tag"}, {"begin", ""}, {"content", {{"type", "any_text"}}}, {"end", ends}};
  return sequence({thought, by_grammar("root ::= [ \\t\\r\\n]*"), format});
}

}  // namespace predgen
