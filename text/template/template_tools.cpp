#include "text/template/template_tools.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "text/jinja/operations.h"
#include "text/template/jinja_template.h"
#include "text/thoughts.h"
#include "text/tools/tool_call_parser.h"

namespace predgen {
namespace {

constexpr const char* kOfArguments = "the arguments of a call";

/// As Python writes a value; dictionaries as JSON, as LFM2.5's template has them.
std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (!value.is_array()) return python_json(value, kOfArguments);
  std::string items;
  for (const Json& item : value) items = joined(items, ", ", python_text(item));
  return fmt::format("[{}]", items);
}

std::string one_call(ToolFormat format, const Json& function) {
  if (format == ToolFormat::kHermes) {
    return fmt::format("<tool_call>\n{}\n</tool_call>", python_json(function, kOfArguments));
  }
  if (format != ToolFormat::kPython) return python_json(function, kOfArguments);
  std::string arguments;
  for (const auto& [name, value] : function["arguments"].items()) {
    arguments = joined(arguments, ", ", fmt::format("{}={}", name, python_text(value)));
  }
  return fmt::format("{}({})", function["name"].get<std::string>(), arguments);
}

}  // namespace

std::string python_json(const Json& value, const char* what) {
  try {
    jinja::Budget budget;
    jinja::Runtime runtime(budget);
    return jinja::json_text(runtime, runtime.from_json(value), {});
  } catch (const jinja::Failure& failure) {
    throw UserError("{}: {}", what, failure.what());
  }
}

std::string call_text(ToolFormat format, const Json& calls) {
  std::string text;
  for (const Json& call : calls) {
    text = joined(text, format == ToolFormat::kHermes ? "\n" : ", ",
                  one_call(format, call["function"]));
  }
  if (format == ToolFormat::kHermes) return text;
  if (format != ToolFormat::kPython) return fmt::format("[TOOL_CALLS][{}]", text);
  return fmt::format("<|tool_call_start|>[{}]<|tool_call_end|>", text);
}

namespace {

const std::string kSaid = "probe said";  // by a function; in no template

}  // namespace

Json call_json(const std::string& id, const std::string& name, const Json& arguments) {
  return {
      {"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

std::string nine_characters(const std::string& id) {
  constexpr size_t kLength = 9;
  std::string letters;
  for (const char c : id) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_plain) letters += c;
  }
  letters.insert(0, kLength - std::min(kLength, letters.size()), '0');
  return letters.substr(letters.size() - kLength);
}

Json with_texts(const Json& value, const std::function<std::string(const std::string&)>& change) {
  if (value.is_string()) return change(value.get<std::string>());
  Json result = value;
  if (value.is_array()) {
    for (Json& item : result) item = with_texts(item, change);
  } else if (value.is_object()) {
    result = Json::object();
    for (const auto& [key, item] : value.items()) result[change(key)] = with_texts(item, change);
  }
  return result;
}

namespace {

bool renders(const RunTemplate& run, const Json& messages, const Json& tools) {
  try {
    run(messages, /*add_generation_prompt=*/true, tools);
    return true;
  } catch (const TemplateTooCostly&) {
    throw;
  } catch (const UserError&) {
    return false;
  }
}

/// The form in which `prompt` tells the model to write calls. LFM2 is told by its training alone:
/// its vocabulary has the marks.
ToolFormat told_format(const std::string& prompt, bool has_python_marks) {
  const auto has = [&](const char* mark) { return prompt.find(mark) != std::string::npos; };
  if (has("<tool_call>") && !has("<function=") && !has("<arg_key>")) return ToolFormat::kHermes;
  if (has("[TOOL_CALLS]")) return ToolFormat::kMistral;
  return has_python_marks ? ToolFormat::kPython : ToolFormat::kNone;
}

/// The dialect of a template that renders a message with calls like one without.
ToolDialect content_dialect(const RunTemplate& run, const std::string& prompt, const Json& chat,
                            const Json& tools, bool has_python_marks) {
  ToolDialect result{.format = told_format(prompt, has_python_marks), .has_calls_in_content = true};
  const std::string mark = "\xFE";
  Json said = chat;
  said.push_back({{"role", "tool"}, {"content", mark}, {"tool_call_id", "abcdefghi"}});
  try {
    result.has_results_as_user = run(said, true, tools).find(mark) == std::string::npos;
  } catch (const TemplateRaised&) {
    result.has_results_as_user = true;
  }
  return result;
}

}  // namespace

ToolDialect find_tool_dialect(const RunTemplate& run, bool has_python_marks) {
  const std::string name = "probe";
  const Json arguments{{"x", "y"}};
  const Json parameters{{"type", "object"}, {"properties", {{"x", {{"type", "string"}}}}}};
  const Json function{{"name", name}, {"description", "z"}, {"parameters", parameters}};
  const Json tools = Json::array({{{"type", "function"}, {"function", function}}});
  const Json user{{"role", "user"}, {"content", "x"}};
  const Json calls = Json::array({call_json("abcdefghi", name, arguments)});
  const Json silent{{"role", "assistant"}, {"content", ""}};
  Json assistant = silent;
  assistant["tool_calls"] = calls;
  std::string prompt, whole;
  bool has_calls = true;
  try {
    prompt = run(Json::array({user}), true, tools);
    if (prompt.find(name) == std::string::npos) {
      return {.format = ToolFormat::kHermes,
              .has_calls_in_content = true,
              .has_results_as_user = true,
              .has_tools_in_system = true};
    }
    whole = run(Json::array({user, assistant}), false, tools);
    has_calls = !renders(run, Json::array({user, silent}), tools) ||
                whole != run(Json::array({user, silent}), false, tools);
  } catch (const TemplateTooCostly&) {
    throw;
  } catch (const UserError&) {
    return {};
  }
  if (!has_calls) return content_dialect(run, prompt, {user, silent}, tools, has_python_marks);
  const std::string answer = whole.starts_with(prompt) ? whole.substr(prompt.size()) : whole;
  for (const auto format : {ToolFormat::kHermes, ToolFormat::kXml, ToolFormat::kMistral,
                            ToolFormat::kLlama, ToolFormat::kGemma, ToolFormat::kPython}) {
    // Its parser takes calls without the mark, too.
    if (format == ToolFormat::kHermes && answer.find("<tool_call>") == std::string::npos) continue;
    ToolCallParser parser(format, {.names = {name}});
    const std::vector<ToolCallParser::Part> parts = parser.push(answer);
    const bool has_call = std::ranges::any_of(parts, [&](const ToolCallParser::Part& part) {
      return part.call.name == name && part.call.arguments == arguments.dump();
    });
    if (has_call) return {.format = format};
  }
  ChannelParser channels;
  std::string said = channels.push(answer).said;
  said += channels.finish().said;
  if (said.find(ChannelParser::kCall) != std::string::npos) return {.format = ToolFormat::kHarmony};
  return {};
}

std::vector<Message> with_told_tools(std::vector<Message> messages, const ToolSet& tools) {
  std::string text =
      "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are "
      "provided with function signatures within <tools></tools> XML tags:\n<tools>\n";
  for (const Json& tool : parse_json(tools.json, "tools"))
    text += python_json(tool, "tools") + "\n";
  text +=
      "</tools>\n\nFor each function call, return a json object with function name and arguments "
      "within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, "
      "\"arguments\": <args-json-object>}\n</tool_call>";
  if (messages.front().role != "system") messages.insert(messages.begin(), {"system", ""});
  Message& system = messages.front();
  system.content = joined(system.content, "\n\n", text);
  system.ids.clear();
  return messages;
}

Json in_dialect(Json message, const ToolDialect& dialect) {
  if (dialect.has_results_as_user && message["role"] == "tool") {
    const std::string text = message["content"].get<std::string>();
    return {{"role", "user"},
            {"content", fmt::format("<tool_response>\n{}\n</tool_response>", text)}};
  }
  if (!message.contains("tool_calls")) return message;
  if (dialect.format == ToolFormat::kHarmony && message.contains("reasoning_content")) {
    // What was said before the call counts as a thought there, too, and the two exclude each other.
    message["thinking"] = joined(message["reasoning_content"].get<std::string>(), "\n\n",
                                 message["content"].get<std::string>());
    message["content"] = "";
  }
  if (!dialect.has_calls_in_content) return message;
  const bool has_line = dialect.format != ToolFormat::kPython;
  message["content"] = joined(message["content"].get<std::string>(), has_line ? "\n" : "",
                              call_text(dialect.format, message["tool_calls"]));
  message.erase("tool_calls");
  return message;
}

namespace {

/// Whether a message's text comes behind what the function that it calls said.
bool shows_behind(const RunTemplate& run, const Json& messages, const Json& tools,
                  const std::string& text) {
  try {
    const std::string shown = run(messages, /*add_generation_prompt=*/true, tools);
    const size_t at = shown.find(text);
    return at != std::string::npos && shown.substr(0, at).find(kSaid) != std::string::npos;
  } catch (const TemplateTooCostly&) {
    throw;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

CallOrder find_call_order(const RunTemplate& run, const ToolDialect& dialect) {
  const auto call = [](const char* id) { return call_json(id, "f", Json::object()); };
  const auto said = [](const char* id) {
    return Json{{"role", "tool"}, {"content", kSaid}, {"tool_call_id", id}};
  };
  const auto plain = [](const char* role, const std::string& content) {
    return Json{{"role", role}, {"content", content}};
  };
  const auto calling = [&](const Json& calls) {
    return Json{{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}};
  };
  const Json tools = Json::array(
      {{{"type", "function"},
        {"function",
         {{"name", "f"}, {"description", "z"}, {"parameters", {{"type", "object"}}}}}}});
  const char *const one = "abcdefghi", *const other = "abcdefghj";
  const Json user = plain("user", "x"), called = calling(Json::array({call(one)}));
  CallOrder order;
  const std::string mark = "\xFE";
  const Json both = calling(Json::array({call(one), call_json(other, "f", {{"x", mark}})}));
  const auto takes = [&](const std::vector<Json>& messages) {
    Json chat = Json::array();
    for (const Json& message : messages) chat.push_back(in_dialect(message, dialect));
    return renders(run, chat, tools);
  };
  // Or the others are left out (gpt-oss).
  const auto shows_both = [&] {
    const Json chat = Json::array({user, in_dialect(both, dialect)});
    try {
      return run(chat, /*add_generation_prompt=*/false, tools).find(mark) != std::string::npos;
    } catch (const TemplateTooCostly&) {
      throw;
    } catch (const UserError&) {
      return true;
    }
  };
  Json telling = called;
  telling["content"] = mark;
  order.moves_text = shows_behind(run, Json::array({user, telling, said(one)}), tools, mark);
  order.is_one_a_message = (!takes({user, both, said(one), said(other)}) || !shows_both()) &&
                           takes({user, called, said(one)});
  if (takes({user, called, said(one), user})) return order;
  for (const char* text : {"", "OK."}) {
    if (!takes({user, called, said(one), plain("assistant", text), user})) continue;
    order.between = text;
    break;
  }
  return order;
}

namespace {

/// One call per message, each followed by its function's result.
std::vector<Message> with_single_calls(const std::vector<Message>& messages) {
  std::vector<Message> result;
  for (auto message = messages.begin(); message != messages.end();) {
    const auto first = message++;
    if (first->tool_calls.size() < 2) {
      result.push_back(*first);
      continue;
    }
    const auto end = std::find_if(message, messages.end(),
                                  [](const Message& one) { return one.role != "tool"; });
    std::vector<Message> outputs(message, end);
    message = end;
    for (const ToolCall& call : first->tool_calls) {
      result.push_back({.role = first->role, .content = "", .tool_calls = {call}});
      if (&call == &first->tool_calls.front()) {
        result.back().content = first->content;
        result.back().thought = first->thought;
      }
      const auto mine = std::ranges::find_if(
          outputs, [&](const Message& one) { return one.tool_call_id == call.id; });
      if (mine == outputs.end()) continue;
      result.push_back(*mine);
      outputs.erase(mine);
    }
    result.insert(result.end(), outputs.begin(), outputs.end());
  }
  return result;
}

/// What a message says beside its calls, as the beginning of the answer that follows their results.
std::vector<Message> with_later_text(const std::vector<Message>& messages) {
  std::vector<Message> result;
  std::string said;
  for (Message message : messages) {
    if (message.role == "user" && !said.empty()) {
      result.push_back({.role = "assistant", .content = std::exchange(said, {})});
    } else if (!message.tool_calls.empty()) {
      said = joined(said, " ", std::exchange(message.content, {}));
    } else if (message.role == "assistant" && !said.empty()) {
      message.content = joined(std::exchange(said, {}), " ", message.content);
      message.ids.clear();
    }
    result.push_back(std::move(message));
  }
  return result;
}

}  // namespace

std::vector<Message> arranged(const std::vector<Message>& messages, const CallOrder& order) {
  std::vector<Message> all = order.is_one_a_message ? with_single_calls(messages) : messages;
  if (order.moves_text) all = with_later_text(all);
  if (!order.between) return all;
  std::vector<Message> result;
  for (const Message& message : all) {
    const bool has_last = !result.empty();
    const bool is_after_call =
        has_last && (result.back().role == "tool" || !result.back().tool_calls.empty());
    const bool is_after_answer = has_last && !is_after_call && result.back().role == "assistant";
    if (message.role == "user" && is_after_call) {
      result.push_back({.role = "assistant", .content = *order.between});
    } else if (message.role == "tool" && is_after_answer) {
      result.push_back({.role = "user", .content = *order.between});
    }
    result.push_back(message);
  }
  return result;
}

}  // namespace predgen
