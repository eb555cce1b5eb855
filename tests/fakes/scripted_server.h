#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "act/mcp/mcp_client.h"
#include "core/mutex.h"

namespace predgen::act {

/// A tool server in this process: `answer` says what it sends for each message that it gets.
struct ScriptedServer {
  using Send = std::function<void(const Json&)>;
  std::function<void(const Json& message, const Send& send)> answer;

  /// A transport to it. One at a time.
  McpClient::MakeTransport transport() {
    return [this](MessageHandler& to) -> std::unique_ptr<Transport> {
      return std::make_unique<Way>(*this, to);
    };
  }
  /// Sends unasked, until its client is gone.
  void send(const Json& message) {
    MessageHandler* to = nullptr;
    {
      const Lock lock(mutex);
      to = handler;
    }
    if (to != nullptr) to->on_text(message.dump());  // which may answer
  }
  std::vector<Json> got() const {
    const Lock lock(mutex);
    return messages;
  }

  mutable Mutex mutex;
  MessageHandler* handler GUARDED_BY(mutex) = nullptr;
  std::vector<Json> messages GUARDED_BY(mutex);

 private:
  struct Way : Transport {
    Way(ScriptedServer& of, MessageHandler& with) : server(of), client(with) {
      const Lock lock(server.mutex);
      server.handler = &with;
    }
    ~Way() override {
      const Lock lock(server.mutex);
      server.handler = nullptr;
    }
    void send(const Json& message, Deadline, const std::stop_token&) override {
      {
        const Lock lock(server.mutex);
        server.messages.push_back(message);
      }
      server.answer(message, [this](const Json& reply) { client.on_text(reply.dump()); });
    }
    void listen(const std::string&, const Json&) override {}

    ScriptedServer& server;
    MessageHandler& client;
  };
};

/// The answer to a request.
inline Json result_of(const Json& request, const Json& result) {
  return {{"jsonrpc", "2.0"}, {"id", request["id"]}, {"result", result}};
}

/// Answers initialize and tools/list as a server does that has one tool, "ask".
inline bool answer_opening(const Json& message, const ScriptedServer::Send& send) {
  if (message["method"] == "initialize") {
    send(result_of(message, {{"protocolVersion", message["params"]["protocolVersion"]},
                             {"capabilities", {{"tools", Json::object()}}}}));
  } else if (message["method"] == "tools/list") {
    send(result_of(message, {{"tools", Json::array({{{"name", "ask"}}})}}));
  }
  return message["method"] == "initialize" || message["method"] == "tools/list";
}

}  // namespace predgen::act
