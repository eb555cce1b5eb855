#include "act/mcp/mcp_client.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "act/mcp/transport.h"
#include "core/stop.h"
#include "core/text.h"
#include "core/version.h"

namespace predgen::act {
namespace {

constexpr const char* kStatelessRevision = "2026-07-28";
// With a handshake; the newest last.
constexpr std::array<std::string_view, 4> kRevisions{"2024-11-05", "2025-03-26", "2025-06-18",
                                                     "2025-11-25"};
constexpr int64_t kMethodNotFound = -32601, kOtherRevisions = -32022;
constexpr size_t kMaxPages = 100, kMaxListed = 1024, kMaxCancelled = 1024;
constexpr int64_t kMaxOthers = 20000;
constexpr double kNoticeSeconds = 5;
constexpr std::chrono::milliseconds kBetweenProgress{200};

Json own_info() { return {{"name", "predgen"}, {"version", program_version()}}; }

}  // namespace

McpClient::McpClient(const MakeTransport& make_transport, std::function<void()> wake)
    : wake_(std::move(wake)), transport_(make_transport(*this)) {}

void McpClient::initialize(double timeout_s, const std::stop_token& stop) {
  const std::string newest(kRevisions.back());
  std::string revision;
  try {
    const Json result = request(
        "initialize",
        {{"protocolVersion", newest}, {"capabilities", Json::object()}, {"clientInfo", own_info()}},
        timeout_s, stop);
    revision = text_of(result, "protocolVersion");
    has_tools_ = member(member(result, "capabilities"), "tools").is_object();
  } catch (const Refusal& refusal) {
    const Json supported = member(refusal.data, "supported");
    const bool is_named =
        std::find(supported.begin(), supported.end(), Json(kStatelessRevision)) != supported.end();
    if (!(refusal.code == kOtherRevisions && is_named) && refusal.code != kMethodNotFound) throw;
    is_stateless_ = true;
    const Json found = request("server/discover", Json::object(), timeout_s, stop);
    has_tools_ = member(member(found, "capabilities"), "tools").is_object();
    revision = kStatelessRevision;
  }
  if (!is_stateless_ && std::ranges::find(kRevisions, revision) == kRevisions.end()) {
    throw ServerError("speaks revision '{}' of MCP, which is not known here",
                      shortened(revision, 20));
  }
  if (!is_stateless_) notify("notifications/initialized", Json::object(), timeout_s);
  Json subscription;
  if (is_stateless_ && has_tools_) {
    Json wanted{{"notifications", {{"toolsListChanged", true}}}};
    add_envelope(wanted);
    const Lock lock(mutex_);
    subscription = message_of("subscriptions/listen", wanted, next_id_++);
  }
  transport_->listen(revision, subscription);
}

std::vector<Json> McpClient::list_tools(double timeout_s, const std::stop_token& stop) {
  std::vector<Json> tools;
  std::set<std::string> cursors;
  Json params = Json::object();
  for (size_t page = 0; has_tools_ && page < kMaxPages; ++page) {
    const Json result = request("tools/list", params, timeout_s, stop);
    const Json listed = member(result, "tools");
    if (!listed.is_array()) throw ServerError("has answered tools/list without tools");
    for (const Json& tool : listed) {
      if (tools.size() == kMaxListed) throw ServerError("lists more than {} tools", kMaxListed);
      if (!text_of(tool, "name").empty()) tools.push_back(tool);
    }
    const std::string cursor = text_of(result, "nextCursor");
    if (cursor.empty()) return tools;
    if (!cursors.insert(cursor).second) throw ServerError("lists its tools in a circle");
    params = {{"cursor", cursor}};
  }
  if (has_tools_) throw ServerError("lists its tools on more than {} pages", kMaxPages);
  return tools;
}

std::string McpClient::get_prompt(const std::string& name, double timeout_s,
                                  const std::stop_token& stop) {
  const Json result = request("prompts/get", {{"name", name}}, timeout_s, stop);
  std::string text;
  for (const Json& message : member(result, "messages")) {
    text = joined(text, "\n\n", text_of(member(message, "content"), "text"));
  }
  if (text.empty()) throw ServerError("has no text in its prompt '{}'", shortened(name));
  return text;
}

Json McpClient::call_tool(const std::string& name, const Json& arguments, double timeout_s,
                          const std::stop_token& stop,
                          const std::function<void(ToolProgress)>& on_progress) {
  return request("tools/call", {{"name", name}, {"arguments", arguments}}, timeout_s, stop,
                 on_progress);
}

void McpClient::add_envelope(Json& params) const {
  if (!is_stateless_) return;
  Json& meta = params["_meta"];
  meta[kRevisionKey] = kStatelessRevision;
  meta["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  meta["io.modelcontextprotocol/clientInfo"] = own_info();
}

Json McpClient::request(const std::string& method, Json params, double timeout_s,
                        const std::stop_token& stop,
                        const std::function<void(ToolProgress)>& on_progress) {
  throw_if_stopped(stop);
  add_envelope(params);
  int64_t id = 0;
  {
    const Lock lock(mutex_);
    if (lost_) throw NotDone(*lost_);
    id = next_id_++;
    pending_[id].on_progress = on_progress;
  }
  if (on_progress) params["_meta"]["progressToken"] = id;
  const Deadline deadline = in_seconds(timeout_s);
  const bool can_cancel = method != "initialize";
  try {
    transport_->send(message_of(method, params, id), deadline, stop);
    return wait_for(id, deadline, timeout_s, stop);
  } catch (const Refusal&) {
    throw;
  } catch (const NotDone&) {
    abandon(id, /*can_cancel=*/false);
    throw;
  } catch (const std::exception&) {
    abandon(id, can_cancel);
    if (std::chrono::steady_clock::now() >= deadline) throw NoAnswer(timeout_s);
    throw;
  }
}

Json McpClient::wait_for(int64_t id, Deadline deadline, double timeout_s,
                         const std::stop_token& stop) {
  Lock lock(mutex_);
  Pending& mine = pending_.at(id);  // nobody else erases it
  const bool is_over = answered_.wait_until(lock, stop, deadline, [&]() REQUIRES(mutex_) {
    return mine.answer.has_value() || mine.is_too_large || lost_.has_value();
  });
  if (!is_over) throw_if_stopped(stop);
  if (!is_over) throw NoAnswer(timeout_s);
  if (mine.is_too_large) {
    throw ServerError("has sent more than {} MiB", kMaxMessageBytes >> 20);
  }
  if (!mine.answer) throw ServerError(*lost_);
  const Json answer = *std::move(mine.answer);
  pending_.erase(id);
  if (answer.contains("result")) return answer["result"];
  const Json& error = answer["error"];
  std::string why = shortened(text_of(error, "message"), 500);
  throw Refusal(id_of(member(error, "code")).value_or(0), why.empty() ? "it says no more" : why,
                member(error, "data"));
}

void McpClient::abandon(int64_t id, bool can_cancel) {
  {
    const Lock lock(mutex_);
    const bool was_asked = pending_.erase(id) > 0 && !lost_;
    if (!was_asked || !can_cancel || cancelled_.size() == kMaxCancelled) return;
    cancelled_.push_back(id);
  }
  wake_();
}

void McpClient::send_cancellations() {
  std::vector<int64_t> ids;
  {
    const Lock lock(mutex_);
    ids.swap(cancelled_);
  }
  for (const int64_t id : ids) {
    notify("notifications/cancelled", {{"requestId", id}, {"reason", "it is not wanted any more"}},
           kNoticeSeconds);
  }
}

void McpClient::notify(const std::string& method, const Json& params, double timeout_s) {
  transport_->send(message_of(method, params), in_seconds(timeout_s), {});
}

bool McpClient::take_changed() {
  const Lock lock(mutex_);
  return std::exchange(has_changed_, false);
}

std::optional<std::string> McpClient::lost() const {
  const Lock lock(mutex_);
  return lost_;
}

std::optional<int64_t> McpClient::on_text(std::string_view text) {
  Json message;
  try {
    message = parse_client_json(text, "a message");
  } catch (const UserError&) {
    const Lock lock(mutex_);
    count_other();
    return std::nullopt;
  }
  // Servers of 2025-03-26 may send several at once.
  if (!message.is_array()) return take(message);
  std::optional<int64_t> answered;
  for (const Json& one : message) {
    if (const auto id = take(one)) answered = id;
  }
  return answered;
}

std::optional<int64_t> McpClient::take(const Json& message) {
  const std::string method = text_of(message, "method");
  const Json id = member(message, "id");
  if (method.empty()) {
    const Lock lock(mutex_);
    return take_answer(message);
  }
  {
    const Lock lock(mutex_);
    count_other();
    if (id.is_null()) take_notification(method, member(message, "params"));
    if (id.is_null() || lost_) return std::nullopt;
  }
  answer_request(id, method);
  return std::nullopt;
}

std::optional<int64_t> McpClient::take_answer(const Json& message) {
  const std::optional<int64_t> id = id_of(member(message, "id"));
  const auto found = id ? pending_.find(*id) : pending_.end();
  const bool is_answer =
      message.is_object() && (message.contains("result") || message.contains("error"));
  // An answer that nobody waits for, or a second one, is none.
  if (!is_answer || found == pending_.end() || found->second.answer) {
    count_other();
    return std::nullopt;
  }
  found->second.answer = message;
  num_others_ = 0;
  answered_.notify_all();
  return id;
}

void McpClient::take_notification(const std::string& method, const Json& params) {
  if (method == "notifications/tools/list_changed") {
    has_changed_ = true;
    return wake_();
  }
  if (method != "notifications/progress") return;
  const auto found = pending_.find(id_of(member(params, "progressToken")).value_or(0));
  if (found == pending_.end() || !found->second.on_progress) return;
  const Deadline now = std::chrono::steady_clock::now();
  if (now - found->second.last_progress < kBetweenProgress) return;
  found->second.last_progress = now;
  num_others_ = 0;
  found->second.on_progress({number_of(params, "progress"), number_of(params, "total")});
}

void McpClient::answer_request(const Json& id, const std::string& method) {
  Json answer{{"jsonrpc", "2.0"}, {"id", id}};
  if (method == "ping") {
    answer["result"] = Json::object();
  } else {
    answer["error"] = {{"code", kMethodNotFound}, {"message", "not offered by this client"}};
  }
  try {
    transport_->send(answer, in_seconds(kNoticeSeconds), {});
  } catch (const ServerError& error) {
    const Lock lock(mutex_);
    lose(error.what());
  }
}

void McpClient::on_too_large() {
  const Lock lock(mutex_);
  count_other();
  for (auto& [id, pending] : pending_) pending.is_too_large = true;
  answered_.notify_all();
}

void McpClient::on_end(const std::string& why) {
  const Lock lock(mutex_);
  lose(why);
}

void McpClient::count_other() {
  if (++num_others_ > kMaxOthers) lose("sends more than it is asked for");
}

void McpClient::lose(const std::string& why) {
  if (lost_) return;
  lost_ = why;
  answered_.notify_all();
  wake_();
}

}  // namespace predgen::act
