#include "model/chat_template.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace predgen {
namespace {

constexpr std::string_view kKnown =
    "ChatML without a default system message, Qwen2's and Qwen2.5's";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// One spelling for what Jinja writes in many ways: no white space, single quotes, \n for line
/// breaks, message['role'] for message.role, adjacent outputs and literals joined.
std::string canonical(std::string jinja) {
  replace_all(jinja, "\n", "\\n");
  std::erase(jinja, ' ');
  replace_all(jinja, "\"", "'");
  replace_all(jinja, "{{-", "{{");
  replace_all(jinja, "-}}", "}}");
  replace_all(jinja, "{%-", "{%");
  replace_all(jinja, "-%}", "%}");
  replace_all(jinja, "message.role", "message['role']");
  replace_all(jinja, "message.content", "message['content']");
  replace_all(jinja, "}}{{", "+");
  replace_all(jinja, "'+'", "");
  return jinja;
}

/// The text between "<|im_start|>system\n" and "<|im_end|>" where the template spells it out.
std::optional<std::string> spelled_out_system(std::string jinja, const std::string& where) {
  replace_all(jinja, "\n", "\\n");
  constexpr std::string_view kOpen = "<|im_start|>system\\n", kClose = "<|im_end|>";
  std::optional<std::string> result;
  for (size_t at = jinja.find(kOpen); at != std::string::npos; at = jinja.find(kOpen, at + 1)) {
    const size_t begin = at + kOpen.size();
    const size_t end = jinja.find(kClose, begin);
    if (end == std::string::npos) break;
    const std::string text = jinja.substr(begin, end - begin);
    if (text.find_first_of("'\"{}") != std::string::npos) continue;  // an expression
    if (text.find('\\') != std::string::npos || (result && *result != text)) {
      throw UserError("{}: unknown default system message in chat_template; known templates: {}",
                      where, kKnown);
    }
    result = text;
  }
  return result;
}

}  // namespace

ChatTemplate ChatTemplate::recognise(const std::string& jinja, const std::string& where) {
  const std::string text = canonical(jinja);
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  const bool is_chat_ml =
      has("'<|im_start|>'+message['role']+'\\n'+message['content']+'<|im_end|>\\n'") &&
      has("'<|im_start|>assistant\\n'") && has("add_generation_prompt");
  // Signs of ChatML relatives that render the same messages to other ids.
  constexpr std::array<std::string_view, 8> kForeign = {
      "|trim",     ".strip(",      ".split(",      "think",
      "bos_token", "loop.lastand", "notloop.last", "raise_exception"};
  const bool is_foreign = std::any_of(kForeign.begin(), kForeign.end(), has);
  std::string assignments = text;
  replace_all(assignments, "{%setadd_generation_prompt=false%}", "");
  if (!is_chat_ml || is_foreign || assignments.find("{%set") != std::string::npos) {
    throw UserError("{}: unknown chat_template; known templates: {}", where, kKnown);
  }
  ChatTemplate result;
  result.start_token_ = "<|im_start|>";
  result.end_token_ = "<|im_end|>";
  result.default_system_ = spelled_out_system(jinja, where);
  return result;
}

std::vector<ChatTemplate::Segment> ChatTemplate::render(const std::vector<Message>& messages,
                                                        bool add_generation_prompt) const {
  if (messages.empty()) throw UserError("a conversation needs at least one message");
  std::vector<Segment> segments;
  const auto add = [&](const Message& message) {
    if (message.role != "system" && message.role != "user" && message.role != "assistant") {
      throw UserError("the chat template has no role \"{}\" (system, user, assistant)",
                      message.role);
    }
    segments.push_back(Control{start_token_});
    if (message.ids.empty()) {
      segments.push_back(Text{message.role + "\n" + message.content});
    } else {
      segments.push_back(Text{message.role + "\n"});
      segments.push_back(message.ids);
    }
    segments.push_back(Control{end_token_});
    segments.push_back(Text{"\n"});
  };
  if (default_system_ && messages.front().role != "system") {
    add({.role = "system", .content = *default_system_});
  }
  for (const Message& message : messages) add(message);
  if (add_generation_prompt) {
    segments.push_back(Control{start_token_});
    segments.push_back(Text{"assistant\n"});
  }
  return segments;
}

}  // namespace predgen
