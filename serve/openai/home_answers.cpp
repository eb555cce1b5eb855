#include "serve/openai/home_answers.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/json.h"
#include "serve/home_names.h"

namespace predgen::serve {
namespace {

/// Whether that is what Home Assistant says of a call that did not work.
bool is_failure(const std::string& result) {
  const Json said = Json::parse(result, nullptr, /*allow_exceptions=*/false);
  return said.is_object() && said.contains("error");
}

/// Of the functions of a home; what they say of it is old once another one has run.
bool only_reads(const ToolCall& call) {
  return call.name.ends_with("GetLiveContext") || call.name.ends_with("GetDateTime") ||
         call.name.ends_with("todo_get_items");
}

}  // namespace

AnsweredCalls calls_made(const std::vector<Message>& messages) {
  AnsweredCalls made;
  std::set<std::string> failed;
  std::map<std::string, const ToolCall*> asked;  // by id
  const auto said = std::ranges::find(messages.rbegin(), messages.rend(), "user", &Message::role);
  for (const Message& message : std::span(said.base(), messages.end())) {
    for (const ToolCall& call : message.tool_calls) asked[call.id] = &call;
    if (message.role != "tool" || !asked.contains(message.tool_call_id)) continue;
    const ToolCall& call = *asked[message.tool_call_id];
    if (is_failure(message.content) && failed.insert(canonical_call(call)).second) continue;
    made.add(call, only_reads(call) ? act::Effects::kRead : act::Effects::kWrites, message.content);
  }
  return made;
}

CompletionResult answer_of_home(const CompletionRequest& request, bool is_first,
                                const Completer::Sink& sink, const ServerTools::Answer& answer) {
  const bool may_be_text = request.is_chat() && !request.tools.empty() && !request.forbids_calls &&
                           request.tool_choice.kind != ToolChoice::Kind::kRequired;
  if (!may_be_text || read_home(std::get<0>(request.prompt)).empty()) {
    return answer(request, is_first, sink);
  }
  const AnsweredCalls made = calls_made(std::get<0>(request.prompt));
  std::set<std::string> written;
  std::vector<ToolCall> calls;
  std::vector<TokenScore> scores;  // of nothing that is told yet
  bool has_said = false, has_left_out = false;
  std::atomic<bool> is_over = false;  // nothing of use comes any more
  const auto tell_scores = [&] {
    if (!scores.empty()) sink.on_scores(std::exchange(scores, {}));
  };
  Completer::Sink inner = sink;
  inner.is_wanted = [&] { return !is_over && sink.is_wanted(); };
  inner.on_scores = [&](std::vector<TokenScore> more) {
    std::ranges::move(more, std::back_inserter(scores));
  };
  inner.on_text = [&](const std::string& text) {
    has_said = true;
    tell_scores();
    sink.on_text(text);
  };
  inner.on_call = [&](const ToolCall& call) {
    if (!written.insert(canonical_call(call)).second) is_over = true;
    if (is_over || made.find(call) != nullptr) {
      has_left_out = true;
      return;
    }
    is_over = only_reads(call);
    calls.push_back(call);
    tell_scores();
    sink.on_call(call);
  };
  CompletionResult result = answer(request, is_first, inner);
  result.calls = calls;
  CompletionRequest again = request;
  again.forbids_calls = true;
  if (again.max_tokens) *again.max_tokens -= result.usage.completion_tokens;
  const bool is_answer = has_said || !calls.empty() || again.max_tokens == 0;
  if (!has_left_out || is_answer || !sink.is_wanted()) {
    tell_scores();
    return result;
  }
  CompletionResult text = answer(again, /*is_first=*/false, sink);
  result.usage.add(text.usage);
  text.usage = result.usage;
  return text;
}

}  // namespace predgen::serve
