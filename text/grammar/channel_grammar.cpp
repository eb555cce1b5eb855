#include "text/grammar/channel_grammar.h"

#include <string>

#include "text/channel_parser.h"
#include "text/grammar/structural_tag.h"

namespace predgen {
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
