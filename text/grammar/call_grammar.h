#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/grammar/answer_form.h"
#include "text/tokenizer.h"

namespace predgen {

// Formats of XGrammar's structural tags, which formats of answers are made of.

inline Json literal(const std::string& text) { return {{"type", "const_string"}, {"value", text}}; }
/// `ebnf`: a grammar as XGrammar writes it.
inline Json by_grammar(const std::string& ebnf) { return {{"type", "grammar"}, {"grammar", ebnf}}; }
inline Json sequence(const Json& elements) {
  return {{"type", "sequence"}, {"elements", elements}};
}
/// Any number of times.
inline Json repeated(const Json& content) { return {{"type", "star"}, {"content", content}}; }
inline Json maybe(const std::string& text) {
  return {{"type", "optional"}, {"content", literal(text)}};
}
inline Json any_of(const Json& elements) {
  return elements.size() == 1 ? elements.front() : Json{{"type", "or"}, {"elements", elements}};
}

/// The grammar of a function's arguments, as XGrammar writes grammars.
using ArgumentsOf = std::function<std::string(const Json& function)>;

/// The functions of an answer's tools that it may call. UserError if it must call one that is not
/// there.
std::vector<Json> functions_of(const AnswerRules& rules);

/// How an answer may call functions, as a format of XGrammar's structural tags: in the form of the
/// tokenizer's model, calls alone if one is required, none and nothing like one if they are
/// forbidden, else in free text, which a call's opening mark ends. Where that is <tool_call>, the
/// name of a function in JSON ("name": "lamp") begins a call, too: models write it into fences of
/// code and doubled braces instead; where calls are XML, <function=lamp> does. AnswerRules::json
/// says what other JSON is there, and where an answer is spoken, only calls follow a call. `form`:
/// of the text of an answer without calls; null: any text.
Json call_format(const AnswerRules& rules, const Tokenizer& tokenizer, const ArgumentsOf& arguments,
                 const Json& form);

/// Such a format after the thought that the prompt has begun.
Json after_thought(const Json& format);

/// An answer as messages with channels (ChannelParser), as a format of XGrammar's structural tags:
/// thoughts, then what is said, in `form` if there is one, or one call, which ends the answer.
/// Where calls are free, text may come before one.
Json channel_format(const AnswerRules& rules, const ArgumentsOf& arguments, const Json& form);

}  // namespace predgen
