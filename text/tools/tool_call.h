#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen {

/// A function that an assistant's message wants called.
struct ToolCall {
  std::string id;         // named by its answer; for a new call empty or the model's own
  std::string name;       // of the function
  std::string arguments;  // a JSON object

  bool operator==(const ToolCall&) const = default;
};

/// Functions that a model may call.
struct ToolSet {
  std::string json{};  // a list as OpenAI has it: [{"type": "function", "function": {"name": ..
  std::vector<std::string> names{};
  std::vector<std::string>
      strict{};  // those whose arguments must hold to all that their schema says

  bool empty() const { return names.empty(); }
  bool operator==(const ToolSet&) const = default;
};

/// How a model writes calls. kHermes: <tool_call>{"name", "arguments"}</tool_call> (Hermes, Qwen).
/// kXml: <tool_call><function=NAME><parameter=KEY>..</parameter></function></tool_call>
/// (Qwen3-Coder, Qwen3.5). kLlama: {"name", "parameters"} as the whole answer, or after
/// <|python_tag|>. kMistral: [TOOL_CALLS] with a list of {"name", "arguments"}, or with
/// name[ARGS]{..}. kGemma: <|tool_call>call:NAME{key:<|"|>text<|"|>}<tool_call|> (Gemma 4).
/// kPython: <|tool_call_start|>[NAME(KEY="text", OTHER=True)]<|tool_call_end|> (LFM2).
/// kHarmony: a message to a function, as ChannelParser gives it.
enum class ToolFormat { kNone, kHermes, kXml, kLlama, kMistral, kGemma, kPython, kHarmony };

/// A function as ToolSet::json has it: what models are shown, in one order, whoever offers it.
/// `description` empty: none. `parameters`: a JSON schema, of an object whether it says so or not;
/// no object: it takes none.
Json shown_tool(const std::string& name, const std::string& description, const Json& parameters);

}  // namespace predgen
