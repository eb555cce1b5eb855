#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace predgen::serve {

constexpr int kGoingAway = 1001;  // RFC 6455, section 7.4

/// Messages for a client. Sending never blocks: what the client has not read yet is queued, and a
/// client that lets the queue grow too long is cut off. Thread-safe.
class WebSocketSender {
 public:
  virtual ~WebSocketSender() = default;

  /// Sends a text message. Does nothing after the end of the connection, or close().
  virtual void send(std::string text) = 0;
  /// Ends the connection when what was sent before is out. `code`: of RFC 6455, section 7.4.
  virtual void close(int code, const std::string& reason) = 0;
};

/// What a connection does. Called by the connection's thread; an exception ends the connection.
class WebSocketHandler {
 public:
  virtual ~WebSocketHandler() = default;

  /// Messages may be sent to the client from now on, until on_close() returns.
  virtual void on_open(WebSocketSender& sender) = 0;
  virtual void on_text(std::string_view message) = 0;
  virtual void on_binary() = 0;
  /// The server stops: end the work in progress, and then the connection.
  virtual void on_drain() = 0;
  /// A limit on its time ends the connection; what is sent now still goes out.
  virtual void on_expiry(const std::string& why) = 0;
  /// The connection is over; always the last call.
  virtual void on_close() = 0;
};

/// Answered however many connections there are, and without a key: otherwise a health check would
/// end a busy server.
inline constexpr const char* kHealthPath = "/health";

struct HttpRequest {
  std::string method;                     // "GET", "POST", ..
  std::string path;                       // without the query
  std::string authorization{}, origin{};  // headers; empty: absent
  std::string body{};
  std::string query{}, host{};  // what comes after the path's ?; a header
  bool is_late = false;         // its connection began after the server began to stop
  bool wants_web_socket = false;
  std::string protocols{};               // WebSocket subprotocols that the client offers
  std::string peer{};                    // the client's address
  std::string content_type{};            // a header
  std::string beta{};                    // the header OpenAI-Beta
  std::string wanted_headers{};          // Access-Control-Request-Headers, of a browser's question
  std::shared_ptr<const void> upload{};  // BeginUpload's; null: it was not asked
};

struct HttpAnswer {
  int status = 200;
  std::string body{};
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// What goes back to the client: one answer, or a stream of events. Used by one thread, except
/// is_gone().
class HttpReply {
 public:
  virtual ~HttpReply() = default;

  /// Whether the client is gone. Does not block. Any thread.
  virtual bool is_gone() const = 0;
  /// A header of whatever is sent; call it before.
  virtual void add_header(const std::string& name, const std::string& value) = 0;
  /// If the client is gone, sending does nothing. The answer to a HEAD has no body.
  virtual void send(const HttpAnswer& answer) = 0;
  /// The first one begins a stream of server-sent events. `type`: the event's; empty: none.
  virtual void send_event(std::string_view data, std::string_view type = {}) = 0;
  /// Sends an event without blocking. False: the client has not taken all of it yet; flush() waits
  /// for that.
  virtual bool offer_event(std::string_view data, std::string_view type = {}) = 0;
  virtual void flush() = 0;
  /// Sends a part of an answer of another type.
  virtual void send_part(const std::string& type, std::string_view data) = 0;
  /// Instead of an answer, if the request wants a WebSocket: returns when that is over. `protocol`:
  /// one of those that the client offered; empty: none.
  virtual void open_web_socket(WebSocketHandler& handler, const std::string& protocol) = 0;
};

/// Answers a request; after `stop` at once, however incomplete. Throws only Interrupted. Called by
/// several threads.
using HttpHandler =
    std::function<void(const HttpRequest& request, HttpReply& reply, const std::stop_token& stop)>;

/// Asked about the head of a request with a form (multipart/form-data), before its body is read,
/// which may then be as large as HttpLimits::upload_bytes. The request holds what is returned;
/// null: there is no upload at its path. ApiError: it is refused at once.
using BeginUpload = std::function<std::shared_ptr<const void>(const HttpRequest& head)>;

/// %2F is a slash. What is no such code stays as it is.
std::string percent_decoded(std::string_view text);

/// The path that a request means: decoded, with single slashes, and none at its end. "/" stays.
std::string plain_path(std::string_view path);

/// Whether a browser's request is from a page served here: Origin has the host and port of Host.
bool is_same_origin(std::string_view origin, std::string_view host);

/// Host without its port.
std::string host_name(std::string_view host);

/// Case does not matter in names of hosts and in origins.
bool is_same_name(std::string_view one, std::string_view other);

/// Whether nobody else can own the name in Host: an address, a name without a dot (localhost, a
/// container's), one under a top-level domain that is kept for private networks (.local, .internal,
/// ..), or missing, which no browser does. Any other name may belong to somebody who points it at
/// this machine.
bool is_own_host(std::string_view host);

/// A field of a form (multipart/form-data).
struct FormField {
  std::string name;
  std::string file_name{};     // empty: it is no file
  std::string_view content{};  // of the body
};

/// Whether a Content-Type is that of such a form.
bool is_form(std::string_view content_type);

/// The fields of a body that a form fills; borrows it. ApiError for what is no such form, or has
/// more than 100 fields.
std::vector<FormField> parse_form(std::string_view body, std::string_view content_type);

}  // namespace predgen::serve
