#include "text/template/chat_template.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "core/error.h"
#include "text/template/message_order.h"
#include "text/template/template_tools.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr std::string_view kTemplateSpace = " \t\r\n";

void check_messages(const std::vector<Message>& messages) {
  if (messages.empty()) throw UserError("a conversation needs at least one message");
  for (const Message& message : messages) {
    if (message.role != "system" && message.role != "user" && message.role != "assistant" &&
        message.role != "tool") {
      throw UserError("a message has the role \"{}\" (system, user, assistant, tool)",
                      message.role);
    }
    require_utf8(message.content, "a message's content");
  }
}

/// Adds advice to the engine's errors, but not to the template's own.
template <typename Work>
auto with_advice(const Work& work) {
  try {
    return work();
  } catch (const TemplateRaised&) {
    throw;
  } catch (const UserError& error) {
    const std::string message =
        fmt::format("{}; give a template that can be run with --chat-template FILE", error.what());
    if (dynamic_cast<const TemplateTooCostly*>(&error) != nullptr) throw TemplateTooCostly(message);
    throw UserError(message);
  }
}

/// In contents, a placeholder for the ids of a message; never occurs in UTF-8.
constexpr char kIds = '\xFE';
std::string placeholder(size_t index) { return fmt::format("{}{}{}", kIds, index, kIds); }

Json message_json(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

}  // namespace

std::tm ChatTemplate::today() {
  std::tm result{};
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) {
    char* end = nullptr;
    const std::time_t time = std::strtoll(epoch, &end, 10);
    if (end == epoch || *end != '\0') {
      throw UserError("SOURCE_DATE_EPOCH is \"{}\", but must be a number of seconds", epoch);
    }
    gmtime_r(&time, &result);
  } else {
    const std::time_t time = std::time(nullptr);
    localtime_r(&time, &result);
  }
  return result;
}

ChatTemplate::ChatTemplate(Source source, const std::vector<AddedToken>& added)
    : source_(std::move(source)),
      tokens_(added),
      template_(with_advice([&] { return JinjaTemplate(source_.jinja, source_.where); })),
      has_xml_tools_(source_.jinja.find("xml_tools") != std::string::npos) {
  require_utf8(source_.jinja, source_.where);
  find_visible();
  jinja::Budget budget;
  probe(budget);
  find_thinking_switch(budget);
  const RunTemplate run_one = [&](const Json& messages, bool add_generation_prompt,
                                  const Json& tools) {
    return run(messages, add_generation_prompt, tools, budget);
  };
  const bool has_python_marks = std::ranges::any_of(
      added, [](const AddedToken& token) { return token.content == "<|tool_call_start|>"; });
  dialect_ = find_tool_dialect(run_one, has_python_marks);
  if (dialect_.format == ToolFormat::kNone) return;
  try {
    call_order_ = find_call_order(run_one, dialect_);
  } catch (const TemplateTooCostly&) {
    if (!dialect_.has_tools_in_system) throw;
    dialect_ = {};  // nothing in it is of tools: only conversations that cost too much are refused
  }
}

/// A token is visible if the source searches contents for it as a whole literal: `'</think>' in
/// content`, content.split('</think>').
void ChatTemplate::find_visible() {
  constexpr std::array<std::string_view, 2> kSearches = {"split(", "replace("};
  const std::string_view source = source_.jinja;
  for (const auto& [id, text] : tokens_.texts()) {
    for (const char quote : {'\'', '"'}) {
      const std::string literal = fmt::format("{}{}{}", quote, text, quote);
      for (size_t at = source.find(literal); at != std::string_view::npos;
           at = source.find(literal, at + 1)) {
        const std::string_view before = source.substr(0, at);
        std::string_view after = source.substr(at + literal.size());
        after.remove_prefix(std::min(after.find_first_not_of(kTemplateSpace), after.size()));
        const bool is_searched =
            after.starts_with("in ") || after.starts_with("not in ") ||
            std::any_of(kSearches.begin(), kSearches.end(),
                        [&](std::string_view search) { return before.ends_with(search); });
        if (is_searched) visible_.insert(id);
      }
    }
  }
}

/// What probe() offers: nothing, but to a template that is never rendered so.
Json ChatTemplate::probe_tools() const {
  if (!source_.is_for_tools) return nullptr;
  const Json function{{"name", "probe"},
                      {"description", "z"},
                      {"parameters", {{"type", "object"}, {"properties", Json::object()}}}};
  return Json::array({{{"type", "function"}, {"function", function}}});
}

/// Renders small conversations to find out what the template does.
void ChatTemplate::probe(jinja::Budget& budget) {
  const std::string answer = placeholder(0), rule = placeholder(1);
  const Json user = message_json("user", "x"), tools = probe_tools();
  const auto opening = [&] { return run(Json::array({user}), true, tools, budget); };
  std::string prompt;
  try {
    prompt = opening();
  } catch (const TemplateTooCostly&) {
    throw;
  } catch (const TemplateRaised&) {
    throw;
  } catch (const UserError&) {
    leaves_out_tools_ = true;
    prompt = opening();  // what every template must render
  }
  try {
    const Json both = Json::array({message_json("system", rule), user});
    takes_system_ = run(both, true, tools, budget).find(rule) != std::string::npos;
  } catch (const TemplateRaised&) {
    takes_system_ = false;
  }
  const std::string whole =
      run(Json::array({user, message_json("assistant", answer)}), false, tools, budget);
  const size_t at = whole.find(answer);
  if (at == std::string::npos) return;
  if (whole.starts_with(prompt) && prompt.size() <= at) {
    answers_follow_prompt_ = true;
    before_answer_ = whole.substr(prompt.size(), at - prompt.size());
  }
  const std::string_view rest = std::string_view(whole).substr(at + answer.size());
  const size_t end = std::min(rest.find_first_not_of(kTemplateSpace), rest.size());
  bool is_first = true;
  tokens_.finder().split(
      rest.substr(end), [&](std::string_view) { is_first = false; },
      [&](TokenId id) {
        if (is_first) end_token_ = id;
        is_first = false;
      },
      AddedTokenFinder::Control::kFind, AddedTokenFinder::Flags::kIgnore);
  if (end_token_) after_answer_ = rest.substr(0, end);
}

/// A variable of one of the usual names is a switch if it changes where an answer begins.
void ChatTemplate::find_thinking_switch(jinja::Budget& budget) {
  const Json user = Json::array({message_json("user", "x")}), tools = probe_tools();
  for (const char* name : {"enable_thinking", "thinking"}) {
    if (source_.jinja.find(name) == std::string::npos) continue;
    const auto prompt = [&](bool thinks) {
      return run(user, /*add_generation_prompt=*/true, tools, budget, Json{{name, thinks}});
    };
    try {
      if (prompt(true) == prompt(false)) continue;
    } catch (const TemplateTooCostly&) {
      throw;
    } catch (const UserError&) {
      continue;
    }
    thinking_switch_ = name;
    return;
  }
}

std::string ChatTemplate::thinking_switch(bool thinks) const {
  return thinking_switch_.empty() ? "" : Json{{thinking_switch_, thinks}}.dump();
}

std::string ChatTemplate::run(const Json& messages, bool add_generation_prompt, const Json& tools,
                              jinja::Budget& budget, const Json& more) const {
  Json variables = more;
  variables.update(source_.special_tokens);
  variables["messages"] = messages;
  variables["add_generation_prompt"] = add_generation_prompt;
  variables["tools"] = tools;
  if (tools.is_null() && leaves_out_tools_) variables.erase("tools");
  if (!tools.is_null() && has_xml_tools_) variables["xml_tools"] = tools;
  variables["documents"] = nullptr;
  return with_advice([&] { return template_.render(variables, source_.today, budget); });
}

bool ChatTemplate::keeps_ids(const Message& message) const {
  if (message.ids.empty() || !message.tool_calls.empty()) return false;
  return message.role != "assistant" ||
         std::none_of(visible_.begin(), visible_.end(), [&](TokenId id) {
           return message.content.find(tokens_.texts().at(id)) != std::string::npos;
         });
}

Json ChatTemplate::to_json(const std::vector<Message>& messages) const {
  const auto escape = [&](const std::string& text) { return tokens_.escape(text); };
  const auto escaped_id = [&](const std::string& id) {
    return escape(dialect_.format == ToolFormat::kMistral ? nine_characters(id) : id);
  };
  Json result = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const std::set<TokenId> visible = message.role == "assistant" ? visible_ : std::set<TokenId>{};
    result.push_back(message_json(message.role, keeps_ids(message)
                                                    ? placeholder(i)
                                                    : tokens_.escape(message.content, visible)));
    if (!message.thought.empty()) result.back()["reasoning_content"] = escape(message.thought);
    if (message.role == "tool") result.back()["tool_call_id"] = escaped_id(message.tool_call_id);
    for (const ToolCall& call : message.tool_calls) {
      const Json arguments = parse_json(call.arguments, "the arguments of a call");
      result.back()["tool_calls"].push_back(
          call_json(escaped_id(call.id), escape(call.name), with_texts(arguments, escape)));
    }
    result.back() = in_dialect(std::move(result.back()), dialect_);
  }
  const bool has_both =
      messages.size() > 1 && messages[0].role == "system" && messages[1].role == "user";
  if (!takes_system_ && has_both) {
    result[1]["content"] = fmt::format("{}\n\n{}", result[0]["content"].get<std::string>(),
                                       result[1]["content"].get<std::string>());
    result.erase(0);
  }
  return result;
}

/// A system message alone; `messages` holds nothing else.
std::string ChatTemplate::run_opening(Json messages, const Json& tools, jinja::Budget& budget,
                                      const Json& variables) const {
  try {
    std::string text = run(messages, false, tools, budget, variables);
    if (!text.empty()) return text;
  } catch (const TemplateRaised&) {
  }
  const std::string first = placeholder(1);
  if (takes_system_) {
    messages.push_back(message_json("user", first));
  } else {
    messages[0] = message_json(
        "user", fmt::format("{}\n\n{}", messages[0]["content"].get<std::string>(), first));
  }
  const std::string text = run(messages, false, tools, budget, variables);
  return text.substr(0, text.find(first));
}

/// Removes the text between an answer's ids and their surroundings.
void ChatTemplate::fit_ids(size_t index, const Message& message, std::string& text) const {
  const std::string ids = placeholder(index);
  const size_t at = text.find(ids);
  if (at == std::string::npos || text.find(ids, at + 1) != std::string::npos) {
    throw UserError(
        "{}: shows the content of a message with the role \"{}\" {}, so its tokens "
        "cannot be kept",
        source_.where, message.role, at == std::string::npos ? "not at all" : "twice");
  }
  if (message.role != "assistant") return;
  if (std::string_view(text).substr(at + ids.size()).starts_with(after_answer_)) {
    text.erase(at + ids.size(), after_answer_.size());
  }
  if (std::string_view(text).substr(0, at).ends_with(before_answer_)) {
    text.erase(at - before_answer_.size(), before_answer_.size());
  }
}

/// Splits text without control tokens at its placeholders for ids.
void ChatTemplate::split_text(std::string_view text, const std::vector<Message>& messages,
                              std::vector<Segment>& segments) const {
  while (!text.empty()) {
    const size_t length = std::min(text.find(kIds), text.size());
    if (length > 0) {
      const std::string plain = ControlTokens::unescape(text.substr(0, length));
      require_utf8(plain, fmt::format("{}: a message that it cuts", source_.where));
      segments.emplace_back(Text{plain});
    }
    if (length == text.size()) return;
    const char* const end = text.data() + text.size();
    size_t index = messages.size();
    const char* const after = std::from_chars(text.data() + length + 1, end, index).ptr;
    if (index >= messages.size() || !keeps_ids(messages[index]) || after == end || *after != kIds) {
      throw UserError("{}: changes the content of a message whose tokens are kept", source_.where);
    }
    segments.emplace_back(messages[index].ids);
    text.remove_prefix(static_cast<size_t>(after + 1 - text.data()));
  }
}

std::vector<ChatTemplate::Segment> ChatTemplate::split(std::string_view text,
                                                       const std::vector<Message>& messages) const {
  std::vector<Segment> segments;
  tokens_.finder().split(
      text, [&](std::string_view run) { split_text(run, messages, segments); },
      [&](TokenId id) { segments.emplace_back(Control{id}); });
  return segments;
}

std::vector<ChatTemplate::Segment> ChatTemplate::render(const std::vector<Message>& given,
                                                        bool add_generation_prompt,
                                                        const ToolSet& tools,
                                                        const std::string& variables) const {
  check_messages(given);
  const bool tells_tools = dialect_.has_tools_in_system && !tools.empty();
  const std::vector<Message> messages =
      arranged(tells_tools ? with_told_tools(given, tools) : given, call_order_);
  const Json contents = to_json(messages);
  const auto without_control = [&](const std::string& json, const char* what) {
    return with_texts(parse_json(json, what),
                      [&](const std::string& text) { return tokens_.escape(text); });
  };
  const Json shown = tools.empty() || tells_tools ? Json() : without_control(tools.json, "tools");
  const Json more = variables.empty() ? Json::object() : without_control(variables, "variables");
  const bool is_opening =
      messages.size() == 1 && messages[0].role == "system" && !add_generation_prompt;
  jinja::Budget budget;
  const auto run_ordered = [&](const Json& ordered) {
    return run(ordered, add_generation_prompt, shown, budget, more);
  };
  std::string text = is_opening ? run_opening(contents, shown, budget, more)
                                : render_in_order(contents, source_.where,
                                                  /*must_show=*/add_generation_prompt, run_ordered);
  for (size_t i = 0; i < messages.size(); ++i) {
    if (keeps_ids(messages[i])) fit_ids(i, messages[i], text);
  }
  return split(text, messages);
}

}  // namespace predgen
