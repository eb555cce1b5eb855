#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/tokenizer.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// As Python's json.dumps() writes it, which models have seen: blanks behind commas and colons.
/// Texts may have bytes that are no UTF-8 (ControlTokens). `what`: the value, for errors.
std::string python_json(const Json& value, const char* what);

/// The calls of a message, a list as OpenAI's API has it, as a model of this form writes them into
/// its answer: one of kHermes, kMistral and kPython.
std::string call_text(ToolFormat format, const Json& calls);

/// A call as templates expect it: its arguments as an object.
Json call_json(const std::string& id, const std::string& name, const Json& arguments);

/// Mistral's templates take only ids of nine letters and digits: keeps the last nine of others.
std::string nine_characters(const std::string& id);

/// `value` with all its texts and keys changed.
Json with_texts(const Json& value, const std::function<std::string(const std::string&)>& change);

/// Renders messages and tools, as a template does; UserError if it rejects them.
using RunTemplate =
    std::function<std::string(const Json& messages, bool add_generation_prompt, const Json& tools)>;
/// How a template that shows tools has calls and what functions say.
struct ToolDialect {
  ToolFormat format = ToolFormat::kNone;  // kNone: the template's own form is unknown
  // It has no place for them (SmolLM3), and only tells the model how to write them:
  bool has_calls_in_content = false, has_results_as_user = false;
  bool has_tools_in_system = false;  // it shows no tools: with_told_tools()
};
/// `has_python_marks`: the vocabulary has those of ToolFormat::kPython.
ToolDialect find_tool_dialect(const RunTemplate& run, bool has_python_marks);
/// For a template that shows no tools: the system message says what they are, and how to call them,
/// in the words that Hermes and Qwen2.5 have learnt from.
std::vector<Message> with_told_tools(std::vector<Message> messages, const ToolSet& tools);
/// A message as such a template takes it: its calls in the content.
Json in_dialect(Json message, const ToolDialect& dialect);

/// What a template that shows tools rejects in a conversation with calls.
struct CallOrder {
  bool is_one_a_message = false;  // several calls in one message are rejected (Llama 3)
  bool moves_text = false;        // a message's text is shown behind its calls' results (Gemma 4)
  // If roles must alternate (Mistral): the text between a function's message and a user's.
  std::optional<std::string> between{};
};
CallOrder find_call_order(const RunTemplate& run, const ToolDialect& dialect);
/// `messages` rearranged for such a template.
std::vector<Message> arranged(const std::vector<Message>& messages, const CallOrder& order);

}  // namespace predgen
