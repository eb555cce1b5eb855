#include "serve/openai/home_answers.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "core/json.h"
#include "runtime/converse/early_calls.h"
#include "serve/home_names.h"

namespace predgen::serve {
namespace {

/// Whether that is what Home Assistant says of a call that did not work.
bool is_failure(const std::string& result) {
  const Json said = Json::parse(result, nullptr, /*allow_exceptions=*/false);
  return said.is_object() && said.contains("error");
}

}  // namespace

std::set<std::string> calls_made(const std::vector<Message>& messages) {
  std::set<std::string> made, read, failed;
  if (messages.back().role != "tool" || read_home(messages).empty()) return made;
  std::map<std::string, const ToolCall*> asked;  // by id
  const auto said = std::ranges::find(messages | std::views::reverse, "user", &Message::role);
  for (const Message& message : std::ranges::subrange(said.base(), messages.end())) {
    for (const ToolCall& call : message.tool_calls) asked[call.id] = &call;
    if (message.role != "tool" || !asked.contains(message.tool_call_id)) continue;
    const ToolCall& call = *asked[message.tool_call_id];
    const std::string key = canonical_call(call);
    if (is_failure(message.content) && failed.insert(key).second) continue;
    const bool only_reads = call.name.ends_with("GetLiveContext");
    if (!only_reads) read.clear();
    (only_reads ? read : made).insert(key);
  }
  made.merge(read);
  return made;
}

CompletionResult without_calls_made(const CompletionRequest& request, bool is_first,
                                    const Completer::Sink& sink,
                                    const ServerTools::Answer& answer) {
  const bool may_be_text = request.is_chat() && !request.forbids_calls &&
                           request.tool_choice.kind != ToolChoice::Kind::kRequired;
  const auto made = may_be_text ? calls_made(std::get<0>(request.prompt)) : std::set<std::string>();
  if (made.empty()) return answer(request, is_first, sink);
  const auto is_made = [&](const ToolCall& call) { return made.contains(canonical_call(call)); };
  bool has_said = false;
  Completer::Sink inner = sink;
  inner.on_text = [&](const std::string& text) {
    has_said = true;
    sink.on_text(text);
  };
  inner.on_call = [&](const ToolCall& call) {
    if (!is_made(call)) sink.on_call(call);
  };
  CompletionResult result = answer(request, is_first, inner);
  const bool has_repeated = std::erase_if(result.calls, is_made) > 0;
  CompletionRequest again = request;
  again.forbids_calls = true;
  if (again.max_tokens) *again.max_tokens -= result.usage.completion_tokens;
  const bool is_over = has_said || !result.calls.empty() || again.max_tokens == 0;
  if (!has_repeated || is_over || !sink.is_wanted()) return result;
  CompletionResult text = answer(again, /*is_first=*/false, sink);
  result.usage.add(text.usage);
  text.usage = result.usage;
  return text;
}

}  // namespace predgen::serve
