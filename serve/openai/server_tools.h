#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/converse/early_calls.h"
#include "runtime/converse/turn_effects.h"
#include "serve/openai/completer.h"
#include "serve/openai/completion_request.h"
#include "serve/serve_config.h"
#include "serve/serve_metrics.h"

namespace predgen::serve {

/// Tools of the server itself in answers to chats: their calls run here, their results join the
/// conversation unseen by the client, and the answer goes on. Tools of the client stay the
/// client's: an answer that calls one ends there, and one of the same name stands before ours.
/// Tools that ask first are not offered, as nobody can be asked. A call that the answer has made
/// already has its result again (AnsweredCalls), and after such calls alone the answer is text.
/// Behind a call with effects that failed, the answer ends with TurnEffects::failure(), unless it
/// is to have a form.
/// Thread-safe; borrows what the constructor names.
class ServerTools {
 public:
  ServerTools(const OwnTools& own, ServeMetrics& metrics) : own_(own), metrics_(metrics) {}

  /// The request with our tools beside its own; nullopt: there are none for it. `client`: as
  /// Completer::prepare().
  std::optional<CompletionRequest> offer(const CompletionRequest& request,
                                         const std::string& client) const;
  /// Answers one request of a conversation, in the calling thread.
  using Answer = std::function<CompletionResult(const CompletionRequest& request, bool is_first,
                                                const Completer::Sink& sink)>;
  /// Adds text to the answer, as Completer::Sink::on_text.
  using Say = std::function<void(const std::string& text)>;
  /// The whole answer to what offer() gave. A tool is cancelled when nobody wants the answer any
  /// more, and after a stop.
  CompletionResult complete(const CompletionRequest& offered, const Completer::Sink& sink,
                            const std::stop_token& stop, const Answer& answer,
                            const Say& say) const;

 private:
  /// What the calls of an answer have come to.
  struct Outcomes {
    AnsweredCalls answered;
    TurnEffects effects;
  };
  std::string run(const ToolCall& call, Outcomes& outcomes, const Completer::Sink& sink,
                  const std::stop_token& stop) const;
  /// Those that may be called without asking.
  std::vector<act::Tool> tools() const;

  const OwnTools& own_;
  ServeMetrics& metrics_;
};

}  // namespace predgen::serve
