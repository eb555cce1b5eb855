#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "serve/openai/completer.h"
#include "serve/openai/completion_request.h"
#include "serve/serve_metrics.h"

namespace predgen::serve {

/// Tools of the server itself in answers to chats: their calls run here, their results join the
/// conversation unseen by the client, and the answer goes on. Tools of the client stay the
/// client's: an answer that calls one ends there, and one of the same name stands before ours.
/// Tools that ask first are not offered, as nobody can be asked. Thread-safe; borrows what the
/// constructor names.
class ServerTools {
 public:
  /// `allowed`: hashes of the keys whose requests may use them; empty: all may.
  ServerTools(act::ToolRunner& runner, ServeMetrics& metrics, std::vector<std::string> allowed)
      : runner_(runner), metrics_(metrics), allowed_(std::move(allowed)) {}

  /// The request with our tools beside its own; nullopt: there are none for it. `client`: as
  /// Completer::prepare().
  std::optional<CompletionRequest> offer(const CompletionRequest& request,
                                         const std::string& client) const;
  /// Answers one request of a conversation, in the calling thread.
  using Answer = std::function<CompletionResult(const CompletionRequest& request, bool is_first,
                                                const Completer::Sink& sink)>;
  /// The whole answer to what offer() gave. A tool is cancelled when nobody wants the answer any
  /// more, and after a stop.
  CompletionResult complete(const CompletionRequest& offered, const Completer::Sink& sink,
                            const std::stop_token& stop, const Answer& answer) const;

 private:
  std::string run(const ToolCall& call, const Completer::Sink& sink,
                  const std::stop_token& stop) const;
  /// Those that may be called without asking.
  std::vector<act::Tool> tools() const;

  act::ToolRunner& runner_;
  ServeMetrics& metrics_;
  const std::vector<std::string> allowed_;
};

}  // namespace predgen::serve
