#include "serve/openai/server_tools.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/stop.h"
#include "core/text.h"
#include "text/tools/tool_call.h"

namespace predgen::serve {
namespace {

constexpr std::chrono::milliseconds kLook{100};  // between two looks whether the client is there

/// Stops a call when its client has left.
class LeavingClient {
 public:
  LeavingClient(const std::function<bool()>& is_wanted, const std::stop_token& stop)
      : on_stop_(stop, [this] { source_.request_stop(); }),
        watcher_([this, &is_wanted](const std::stop_token& over) {
          while (!over.stop_requested()) {
            if (!is_wanted()) source_.request_stop();
            wait_until(std::chrono::steady_clock::now() + kLook, over);
          }
        }) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> on_stop_;
  std::jthread watcher_;  // last: it uses the others
};

}  // namespace

std::vector<act::Tool> ServerTools::tools() const {
  std::vector<act::Tool> tools = own_.runner.tools();
  std::erase_if(tools, [](const act::Tool& tool) { return tool.asks; });
  return tools;
}

std::optional<CompletionRequest> ServerTools::offer(const CompletionRequest& request,
                                                    const std::string& client) const {
  const bool is_auto = request.tool_choice.kind == ToolChoice::Kind::kAuto;
  if (!own_.may_use(client) || !request.is_chat() || !is_auto) return std::nullopt;
  std::vector<act::Tool> own = act::without(tools(), request.tools);
  if (own.empty()) return std::nullopt;
  CompletionRequest offered = request;
  offered.tools = act::together(request.tools, act::tool_set(own));
  offered.own_tools = std::move(own);
  if (const std::string said = own_.runner.prompt(); !said.empty()) {
    auto& messages = std::get<0>(offered.prompt);
    if (messages.front().role != "system") {
      messages.insert(messages.begin(), {.role = "system", .content = ""});
    }
    messages.front().content = joined(messages.front().content, "\n\n", said);
  }
  return offered;
}

std::string ServerTools::run(const ToolCall& call, Outcomes& outcomes, const Completer::Sink& sink,
                             const std::stop_token& stop) const {
  if (const std::string* const before = outcomes.answered.find(call)) return *before;
  const std::vector<act::Tool> all = tools();
  const auto tool = std::ranges::find(all, call.name, &act::Tool::name);
  if (tool == all.end()) {
    outcomes.effects.add_missing(call);
    return "Error: there is no such tool any more.";
  }
  const LeavingClient leaving(sink.is_wanted, stop);
  const auto begin = std::chrono::steady_clock::now();
  const act::ToolResult result = own_.runner.run(*tool, call.arguments, leaving.token(), {});
  metrics_.count_tool_call(act::to_string(result.status), std::chrono::steady_clock::now() - begin);
  outcomes.effects.add(call, *tool, result);
  outcomes.answered.add(call, tool->effects, result.text);
  return result.text;
}

CompletionResult ServerTools::complete(const CompletionRequest& offered,
                                       const Completer::Sink& sink, const std::stop_token& stop,
                                       const Answer& answer, const Say& say) const {
  const auto is_own = [&](const ToolCall& call) {
    return std::ranges::find(offered.own_tools, call.name, &act::Tool::name) !=
           offered.own_tools.end();
  };
  CompletionRequest request = offered;
  std::string text;
  bool begins = false, has_said = false;  // a later round; anything
  Completer::Sink inner = sink;
  inner.on_text = [&](const std::string& more) {
    text += more;
    const bool is_apart = std::exchange(begins, false) && has_said;
    sink.on_text((is_apart ? " " : "") + more);
    has_said = true;
  };
  inner.on_call = [&](const ToolCall& call) {
    if (!is_own(call)) sink.on_call(call);
  };
  Outcomes outcomes;
  std::optional<CompletionUsage> usage;
  for (int round = 0;; ++round) {
    begins = round > 0;
    CompletionResult result = answer(request, round == 0, inner);
    usage ? usage->add(result.usage) : void(usage = result.usage);
    const std::vector<ToolCall> calls = result.calls;
    std::erase_if(result.calls, is_own);
    const bool ends = calls.empty() || !result.calls.empty() || result.is_cut ||
                      round == own_.config.rounds.max_rounds || !sink.is_wanted();
    if (ends) {
      result.usage = *usage;
      return result;
    }
    auto& messages = std::get<0>(request.prompt);
    messages.push_back(
        {.role = "assistant", .content = std::exchange(text, ""), .tool_calls = calls});
    request.forbids_calls = std::ranges::all_of(
        calls, [&](const ToolCall& call) { return outcomes.answered.find(call) != nullptr; });
    for (const ToolCall& call : calls) {
      if (!sink.is_wanted()) break;
      const std::string said = run(call, outcomes, sink, stop);
      throw_if_stopped(stop);
      messages.push_back({.role = "tool", .content = said, .tool_call_id = call.id});
    }
    const std::string failure = request.form ? "" : outcomes.effects.failure();
    if (!failure.empty()) say((has_said ? " " : "") + failure);
    if (!failure.empty() || !sink.is_wanted()) {
      result.usage = *usage;
      return result;
    }
  }
}

}  // namespace predgen::serve
