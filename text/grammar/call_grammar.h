#pragma once

#include <functional>
#include <string>

#include "core/json.h"
#include "text/grammar/answer_form.h"
#include "text/tokenizer.h"

namespace predgen {

/// How an answer may call functions, as a format of XGrammar's structural tags: in the form of the
/// tokenizer's model, calls alone if one is required, else in free text, which a call's opening
/// mark ends. Where that is <tool_call>, the name of a function in JSON ("name": "lamp") begins a
/// call, too: models write it into fences of code and doubled braces instead. `arguments`: the
/// grammar of a function's arguments. `form`: of the text of an answer without calls; null: any
/// text.
Json call_format(const AnswerRules& rules, const Tokenizer& tokenizer,
                 const std::function<std::string(const Json& function)>& arguments,
                 const Json& form);

/// Such a format after the thought that the prompt has begun.
Json after_thought(const Json& format);

}  // namespace predgen
