#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "act/mcp/transport.h"
#include "act/tool_runner.h"
#include "core/json.h"
#include "core/mutex.h"

namespace predgen::act {

/// A server has answered that it will not do something; the message is what it says, shortened.
class Refusal : public Error {
 public:
  Refusal(int64_t number, const std::string& message, const Json& more = {})
      : Error(message), code(number), data(more) {}

  const int64_t code;  // of JSON-RPC
  const Json data;
};

/// A server has not answered in time.
class NoAnswer : public ServerError {
 public:
  explicit NoAnswer(double seconds) : ServerError("has not answered within {:g} s", seconds) {}
};

/// The client of one server by the Model Context Protocol, for its tools: revision 2026-07-28, and
/// those from 2024-11-05 to 2025-11-25 (https://modelcontextprotocol.io/specification). It offers
/// servers nothing: no files, no sampling, no questions to the user. Thread-safe.
class McpClient : private MessageHandler {
 public:
  using MakeTransport = std::function<std::unique_ptr<Transport>(MessageHandler&)>;

  /// `wake`: there is something to do, for one thread that calls take_changed(), lost() and
  /// send_cancellations(). Any thread, which may hold this one's lock.
  McpClient(const MakeTransport& make_transport, std::function<void()> wake);

  // Each waits for its answer. ServerError (NotDone, NoAnswer) or Refusal; Interrupted after a
  // stop.

  /// To be called first.
  void initialize(double timeout_s, const std::stop_token& stop);
  /// All pages: objects with a name.
  std::vector<Json> list_tools(double timeout_s, const std::stop_token& stop);
  /// The text of a prompt that the server offers.
  std::string get_prompt(const std::string& name, double timeout_s, const std::stop_token& stop);
  /// A result as the server gives it. `arguments`: an object. `on_progress`: any thread, with this
  /// one's lock.
  Json call_tool(const std::string& name, const Json& arguments, double timeout_s,
                 const std::stop_token& stop,
                 const std::function<void(ToolProgress)>& on_progress = {});

  /// Whether the tools have changed since this was asked last.
  bool take_changed();
  /// Why the server is lost; nullopt: it is not.
  std::optional<std::string> lost() const;
  /// Tells the server which requests nobody waits for any more.
  void send_cancellations();

 private:
  struct Pending {
    std::optional<Json> answer{};
    bool is_too_large = false;
    std::function<void(ToolProgress)> on_progress{};
    Deadline last_progress{};
  };
  std::optional<int64_t> on_text(std::string_view text) override;
  void on_too_large() override;
  void on_end(const std::string& why) override;

  Json request(const std::string& method, Json params, double timeout_s,
               const std::stop_token& stop,
               const std::function<void(ToolProgress)>& on_progress = {});
  Json wait_for(int64_t id, Deadline deadline, double timeout_s, const std::stop_token& stop);
  void notify(const std::string& method, const Json& params, double timeout_s);
  /// Adds what every request of this revision has.
  void add_envelope(Json& params) const;
  void abandon(int64_t id, bool can_cancel);
  /// These return the request that is answered.
  std::optional<int64_t> take(const Json& message);
  std::optional<int64_t> take_answer(const Json& message) REQUIRES(mutex_);
  void take_notification(const std::string& method, const Json& params) REQUIRES(mutex_);
  void answer_request(const Json& id, const std::string& method);
  /// Something came that answers nothing.
  void count_other() REQUIRES(mutex_);
  void lose(const std::string& why) REQUIRES(mutex_);

  const std::function<void()> wake_;
  mutable Mutex mutex_;
  std::condition_variable_any answered_;
  std::map<int64_t, Pending> pending_ GUARDED_BY(mutex_);
  std::vector<int64_t> cancelled_ GUARDED_BY(mutex_);
  int64_t next_id_ GUARDED_BY(mutex_) = 1;
  int64_t num_others_ GUARDED_BY(mutex_) = 0;  // since the last answer
  bool has_changed_ GUARDED_BY(mutex_) = false;
  std::optional<std::string> lost_ GUARDED_BY(mutex_);
  bool has_tools_ = true, is_stateless_ = false;  // as initialize() found
  std::unique_ptr<Transport> transport_;          // last: its threads use the others
};

}  // namespace predgen::act
