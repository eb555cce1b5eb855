#include "text/grammar/call_grammar.h"

#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "text/thoughts.h"

namespace predgen {
namespace {

/// How calls look: `open`, then each function's beginning, its arguments and `close`, then `tail`
/// on a line of its own. Behind the last one comes `end`, if they are a list, and `between` before
/// another.
struct CallForm {
  std::string open{}, name_begin{}, name_end{}, close{}, tail{}, end{}, between{};
  bool is_written_out = false;  // in free text a call may lack the mark
  bool ends_answer = false;     // nothing follows the list
};

CallForm form_of(const Tokenizer& tokenizer) {
  const std::string name = R"({"name": ")";
  switch (tokenizer.tool_format()) {
    case ToolFormat::kHermes:
      return {.open = "<tool_call>",
              .name_begin = "\n" + name,
              .name_end = R"(", "arguments": )",
              .close = "}",
              .tail = "</tool_call>",
              .between = "\n<tool_call>",
              .is_written_out = true};
    case ToolFormat::kXml:
      return {.open = "<tool_call>",
              .name_begin = "\n<function=",
              .name_end = ">",
              .close = "</function>",
              .tail = "</tool_call>",
              .between = "\n<tool_call>",
              .is_written_out = true};
    case ToolFormat::kGemma:
      return {.open = "<|tool_call>",
              .name_begin = "call:",
              .close = "<tool_call|>",
              .between = "<|tool_call>"};
    case ToolFormat::kPython:
      return {.open = "<|tool_call_start|>",
              .name_end = "(",
              .close = ")",
              .end = "]<|tool_call_end|>",
              .between = ", "};
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
              .between = ", ",
              .ends_answer = true};
    case ToolFormat::kHarmony:  // channel_format()'s
    case ToolFormat::kNone:
      break;
  }
  throw UserError("the model's chat template has an unknown form of calls");
}

/// Free text of a model whose calls are JSON without a mark: it does not begin like one.
constexpr const char* kNoJson = "root ::= \"\" | [^{ \\t\\r\\n] [\\u0000-\\U0010ffff]*";

/// The first character of a text that is no call, with the blank that some vocabularies put before.
constexpr const char* kTextBegin = R"(root ::= [ ]? [^{<[`" \t\r\n])";

/// The rest of a call that is written out in free text, after the function's name. `is_last`:
/// nothing follows but the end of its list, of its doubled brace or of what wraps it.
Json written_rest(const std::string& arguments, bool is_last) {
  const std::string space = " [ \\t\\r\\n]* ";
  const std::string close = is_last ? R"( ([ \t\r\n]* ("]" | "}")){0,3})" : "";
  const std::string key = R"(("\"arguments\"" | "\"parameters\""))";
  return sequence(
      {by_grammar("root ::=" + space + R"(",")" + space + key + space + R"(":")" + space),
       by_grammar(arguments), by_grammar("root ::=" + space + R"("}")" + close)});
}

/// Calls in free text: any of the marks, then the rest.
struct Begin {
  std::vector<std::string> marks;
  Json rest;
};

/// A call of a function in free text without the mark.
Begin written_begin(ToolFormat format, const std::string& name, const std::string& arguments,
                    bool is_last) {
  if (format == ToolFormat::kXml) {
    return {{"<function=" + name + ">"},
            sequence({by_grammar(arguments), literal("</function>"), maybe("\n"),
                      maybe("</tool_call>")})};
  }
  const std::string end = name + "\"";
  return {{"\"name\": \"" + end, "\"name\":\"" + end}, written_rest(arguments, is_last)};
}

/// A text that these calls end, each of which may be followed by another text, if it `goes_on`.
Json text_among_calls(const std::vector<Begin>& begins, bool goes_on) {
  Json rules = Json::array();
  for (const Begin& begin : begins) {
    for (const std::string& mark : begin.marks) rules.push_back(Json::array({mark, begin.rest}));
  }
  return {{"type", "dispatch"}, {"rules", rules}, {"loop", goes_on}};
}

/// A text, perhaps followed by such a call, behind which there are only others, if it `goes_on`.
/// `excluded`: what else is not in the text.
Json text_before_calls(const std::vector<Begin>& begins, bool goes_on, Json excluded,
                       bool may_be_empty) {
  Json any = Json::array();
  for (const Begin& begin : begins) {
    Json marks = Json::array();
    for (const std::string& mark : begin.marks) {
      marks.push_back(literal(mark));
      excluded.push_back(mark);
    }
    any.push_back(sequence({any_of(marks), begin.rest}));
  }
  Json calls = any_of(any);
  if (goes_on) {
    const Json another = sequence({by_grammar(R"(root ::= [ ,;\t\r\n]{0,4})"), calls});
    calls = sequence({calls, repeated(another)});
  }
  const Json text{{"type", "any_text"}, {"excludes", excluded}};
  const Json rest{{"type", "optional"}, {"content", calls}};
  if (may_be_empty) return sequence({text, rest});
  return any_of({calls, sequence({by_grammar(kTextBegin), text, rest})});
}

/// A text, not an empty one, that has none of these.
Json without(const Json& marks) {
  return sequence({by_grammar(kTextBegin), {{"type", "any_text"}, {"excludes", marks}}});
}

/// A text, not an empty one, in which no call begins, nor anything like one: a model that may not
/// call a function writes the call with other blanks, another name or in a fence of code, unless
/// neither brace nor fence can be written at all.
Json text_without_calls(const CallForm& calls) {
  Json marks = Json::array();
  if (!calls.open.empty()) marks.push_back(calls.open);
  for (const char* mark : {"{", "```", "<function="}) {
    if (calls.is_written_out) marks.push_back(mark);
  }
  return without(marks);
}

/// A call whose mark the model wrote by itself: it may leave white space out, or put some.
Json loose_call(const CallForm& calls, const std::string& name, const std::string& arguments) {
  const bool has_line = calls.name_begin.starts_with('\n');
  const std::string begin = calls.name_begin.substr(has_line ? 1 : 0) + name + calls.name_end;
  Json parts = Json::array({literal(begin), by_grammar(arguments), literal(calls.close)});
  if (has_line) parts.insert(parts.begin(), maybe("\n"));
  if (!calls.tail.empty()) parts.insert(parts.end(), {maybe("\n"), literal(calls.tail)});
  return sequence(parts);
}

}  // namespace

std::vector<Json> functions_of(const AnswerRules& rules) {
  std::vector<Json> functions;
  if (rules.tools.empty()) return functions;
  for (const Json& tool : Json::parse(rules.tools.json)) {
    const Json& function = tool["function"];
    const bool may_be_called = rules.only_tool.empty() || function["name"] == rules.only_tool;
    if (may_be_called) functions.push_back(function);
  }
  if (!functions.empty()) return functions;
  throw UserError("tool_choice names a function that does not exist: '{}'", rules.only_tool);
}

Json call_format(const AnswerRules& rules, const Tokenizer& tokenizer, const ArgumentsOf& arguments,
                 const Json& form) {
  const CallForm calls = form_of(tokenizer);
  if (rules.calls == AnswerRules::Calls::kForbidden) {
    return form.is_null() ? text_without_calls(calls) : form;
  }
  const bool is_required = rules.calls == AnswerRules::Calls::kRequired;
  const bool is_free = !is_required && form.is_null() && !calls.open.empty();
  const bool is_list = !calls.end.empty();
  const bool is_spoken = rules.json != AnswerRules::NamedJson::kText;
  const bool is_json_call = rules.json == AnswerRules::NamedJson::kCall && is_free &&
                            tokenizer.tool_format() == ToolFormat::kHermes;
  const bool has_json = rules.json != AnswerRules::NamedJson::kForbidden;
  const bool is_xml = tokenizer.tool_format() == ToolFormat::kXml;
  const bool goes_on = rules.has_many_calls && !calls.ends_answer;
  Json bodies = Json::array();  // of calls, after the mark
  Json loose = Json::array();   // of those that a model began by itself
  Json named = Json::array();   // of calls in JSON, after "name": "
  std::vector<Begin> begins;
  for (const Json& function : functions_of(rules)) {
    const std::string name = function["name"].get<std::string>();
    const std::string grammar = arguments(function);
    const bool is_last = is_spoken || !rules.has_many_calls;
    if (is_json_call) {
      named.push_back(sequence({literal(name + "\""), written_rest(grammar, is_last)}));
    } else if (is_free && calls.is_written_out && (has_json || is_xml)) {
      begins.push_back(written_begin(tokenizer.tool_format(), name, grammar, is_last));
    }
    if (is_free && !is_list) loose.push_back(loose_call(calls, name, grammar));
    const std::string close = joined(calls.close, "\n", calls.tail);
    bodies.push_back(
        sequence({literal(calls.name_begin + name + calls.name_end), by_grammar(grammar)}));
    if (!close.empty()) bodies.back()["elements"].push_back(literal(close));
  }
  if (is_json_call) {
    begins.push_back({{R"({"name": ")", R"({"name":")", "{\n  \"name\": \"", "{\n    \"name\": \""},
                      any_of(named)});
  }
  Json some = Json::array({any_of(bodies)});  // what comes after the first mark
  if (rules.has_many_calls) {
    some.push_back(repeated(sequence({literal(calls.between), any_of(bodies)})));
  }
  if (is_list) {
    some.insert(some.begin(), literal("["));
    some.push_back(literal(calls.end));
  }
  Json only = some;
  if (!calls.open.empty()) only.insert(only.begin(), literal(calls.open));
  if (is_required) return sequence(only);
  if (!form.is_null()) return any_of({sequence(only), form});
  const Json words = Json::array({"{", "`", R"("name)", R"("arguments)"});  // not in a text
  if (calls.open.empty()) {
    const Json text = has_json ? by_grammar(kNoJson) : without(words);
    return any_of({sequence(only), text});
  }
  if (is_list) some.insert(some.begin(), maybe(" "));
  begins.push_back({{calls.open}, is_list ? sequence(some) : any_of(loose)});
  if (!is_spoken) return text_among_calls(begins, goes_on);
  return text_before_calls(begins, goes_on && !is_list, has_json ? Json::array() : words, has_json);
}

Json after_thought(const Json& format) {
  Json ends = Json::array();
  for (const std::string& mark : closing_thought_marks()) ends.push_back(mark);
  const Json thought{
      {"type", "tag"}, {"begin", ""}, {"content", {{"type", "any_text"}}}, {"end", ends}};
  return sequence({thought, by_grammar("root ::= [ \\t\\r\\n]*"), format});
}

namespace {

const std::string kMessage(ChannelParser::kMessage);

/// Any text of one message.
Json message_text() {
  return {{"type", "any_text"},
          {"excludes",
           {"<|start|>", "<|channel|>", kMessage, "<|constrain|>", "<|end|>", "<|call|>",
            "<|return|>"}}};
}

/// A message after which another one comes.
Json message(const std::string& channel) {
  return sequence({{{"type", "tag"},
                    {"begin", "<|channel|>" + channel + kMessage},
                    {"content", message_text()},
                    {"end", "<|end|>"}},
                   literal("<|start|>assistant")});
}

Json call(const std::string& name, const std::string& arguments) {
  const std::string to = " to=functions." + name;
  const Json kind = by_grammar(R"(root ::= " "? ("<|constrain|>"? "json")?)");
  return sequence(
      {any_of({literal("<|channel|>commentary" + to), literal(to + "<|channel|>commentary")}), kind,
       literal(kMessage), by_grammar(arguments)});
}

}  // namespace

Json channel_format(const AnswerRules& rules, const ArgumentsOf& arguments, const Json& form) {
  Json first = Json::array({message("analysis")}), last = Json::array();
  if (rules.calls != AnswerRules::Calls::kRequired) {
    last.push_back(
        sequence({literal("<|channel|>final" + kMessage), form.is_null() ? message_text() : form}));
    if (form.is_null()) first.push_back(message("commentary"));
  }
  for (const Json& function : functions_of(rules)) {
    if (rules.calls == AnswerRules::Calls::kForbidden) break;
    last.push_back(call(function["name"].get<std::string>(), arguments(function)));
  }
  return sequence({repeated(any_of(first)), any_of(last)});
}

}  // namespace predgen
