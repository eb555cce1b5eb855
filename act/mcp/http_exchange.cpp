#include "act/mcp/http_exchange.h"

#include <fcntl.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <limits>
#include <optional>

#include "core/stop.h"
#include "core/text.h"

namespace predgen::act {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

using HttpCode = beast::error_code;

constexpr size_t kBufferBytes = 64 << 10;
constexpr uint32_t kHeaderBytes = 16 << 10;

}  // namespace

HttpUrl parse_http_url(const std::string& url) {
  if (url.starts_with("https://")) {
    throw UserError(
        "{}: TLS is not spoken here: put a proxy on this machine in front and give its http:// "
        "address, or a \"command\" that bridges, such as npx with the arguments mcp-remote and "
        "this address",
        url);
  }
  if (auto parsed = parse_host_url(url, "http", R"([/?][!-"$-~]*)")) return *std::move(parsed);
  throw UserError("'{}' is no address of an MCP server: give http://HOST:PORT/PATH",
                  shortened(first_line(url)));
}

void throw_refusal(int status) {
  switch (status) {
    case 401:
    case 403:
      throw NotDone("refuses the request ({}): give it a key, as {}", status,
                    R"("headers": {"Authorization": "Bearer ${KEY}"})");
    case 404:
      throw NotDone("has no MCP at this address (404): the path is often /mcp");
    default:
      if (status / 100 == 4) throw NotDone("answers with HTTP status {}", status);
      throw ServerError("answers with HTTP status {}", status);
  }
}

struct HttpExchange::State {
  State(Deadline deadline, const std::stop_token& stop)
      : on_stop(stop, [this] { asio::post(context, [this] { cancel(); }); }) {
    timer.expires_at(deadline);
    timer.async_wait([this](const HttpCode& error) {
      if (error) return;
      is_late = true;
      cancel();
    });
    parser.header_limit(kHeaderBytes);
    parser.body_limit(std::numeric_limits<uint64_t>::max());  // readers have limits
  }
  void cancel() {
    resolver.cancel();
    stream.cancel();
  }

  asio::io_context context;
  asio::steady_timer timer{context};
  asio::ip::tcp::resolver resolver{context};
  beast::tcp_stream stream{context};
  beast::flat_buffer buffer{kBufferBytes};
  http::response_parser<http::buffer_body> parser;
  std::array<char, 16 << 10> bytes{};
  bool is_late = false;
  std::stop_callback<std::function<void()>> on_stop;  // last: it uses the others
};

HttpExchange::HttpExchange(const HttpUrl& url, Deadline deadline, const std::stop_token& stop)
    : url_(url), stop_(stop), state_(std::make_unique<State>(deadline, stop)) {}

HttpExchange::~HttpExchange() {
  HttpCode ignored;
  state_->stream.socket().close(ignored);  // a socket's destructor would send what is left
}

template <typename Begin>
void HttpExchange::run(const Begin& begin) {
  throw_if_stopped(stop_);
  std::optional<HttpCode> result;
  begin([&result](const HttpCode& error, const auto&...) { result = error; });
  state_->context.restart();
  while (!result) state_->context.run_one();
  throw_if_stopped(stop_);
  if (state_->is_late) throw ServerError("has not answered in time");
  if (!*result || *result == http::error::need_buffer) return;
  throw ServerError("cannot be asked: {}", result->message());
}

void HttpExchange::connect() {
  asio::ip::tcp::resolver::results_type places;
  try {
    run([&](auto done) {
      state_->resolver.async_resolve(url_.host, url_.port,
                                     [&places, done](const HttpCode& error, const auto& found) {
                                       places = found;
                                       done(error);
                                     });
    });
    run([&](auto done) { state_->stream.async_connect(places, done); });
  } catch (const ServerError& error) {
    throw NotDone("{}", error.what());
  }
}

HttpExchange::Head HttpExchange::send(const std::string& method,
                                      const std::map<std::string, std::string>& headers,
                                      const std::string& body) {
  connect();
  HttpCode ignored;
  asio::ip::tcp::socket& socket = state_->stream.socket();
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  // Who gives up takes back what has not left yet: it must not arrive when the network is back.
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  http::request<http::string_body> request{http::string_to_verb(method), url_.path, 11};
  for (const auto& [name, value] : headers) request.set(name, value);
  request.set(http::field::host, url_.authority());
  request.set(http::field::connection, "close");
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  if (!body.empty()) request.prepare_payload();
  run([&](auto done) { http::async_write(state_->stream, request, done); });
  run([&](auto done) {
    http::async_read_header(state_->stream, state_->buffer, state_->parser, done);
  });
  socket.set_option(asio::socket_base::linger(false, 0), ignored);
  const auto& answer = state_->parser.get();
  const auto header = [&](const char* name) {
    const auto value = answer[name];
    return std::string(value.data(), value.size());
  };
  return {.status = static_cast<int>(answer.result_int()),
          .content_type = header("Content-Type"),
          .session = header("Mcp-Session-Id")};
}

std::string_view HttpExchange::read_some() {
  auto& bytes = state_->bytes;
  while (!state_->parser.is_done()) {
    auto& body = state_->parser.get().body();
    body.data = bytes.data();
    body.size = bytes.size();
    run([&](auto done) {
      http::async_read_some(state_->stream, state_->buffer, state_->parser, done);
    });
    if (const size_t count = bytes.size() - body.size; count > 0) return {bytes.data(), count};
  }
  return {};
}

std::string HttpExchange::read_all(size_t most) {
  std::string all;
  while (true) {
    const std::string_view more = read_some();
    if (more.empty()) return all;
    if (all.size() + more.size() > most) throw ServerError("has sent more than {} bytes", most);
    all += more;
  }
}

}  // namespace predgen::act
