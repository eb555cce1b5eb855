#include "serve/http/tcp_server.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <list>
#include <system_error>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/mutex.h"
#include "core/text.h"

namespace predgen::serve {

namespace ip = boost::asio::ip;

std::string peer_of(const ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const ip::address address = endpoint.address();
  if (address.is_v4()) return address.to_string();
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), uint8_t{0});
  return ip::address_v6(bytes).to_string();
}

void notice_vanishing(ip::tcp::socket& socket) {
  constexpr int kSilence = 10, kBetween = 5, kTries = 3;  // seconds, seconds, packets
  const int handle = socket.native_handle();
  const auto set = [handle](int level, int name, int value) {
    ::setsockopt(handle, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilence);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetween);
  set(IPPROTO_TCP, TCP_KEEPCNT, kTries);
}

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

tcp::endpoint endpoint_of(const std::string& host, int port) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) throw UserError("host {}: give an address, such as 127.0.0.1 or 0.0.0.0", host);
  return {address, static_cast<uint16_t>(port)};
}

/// A bound acceptor. UserError if that is not possible.
tcp::acceptor bound(asio::io_context& context, const std::string& host, int port) {
  const tcp::endpoint endpoint = endpoint_of(host, port);
  try {
    tcp::acceptor acceptor(context, endpoint.protocol());
    ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    return acceptor;
  } catch (const boost::system::system_error& error) {
    throw UserError("cannot listen at {} port {}: {}", host, port, error.code().message());
  }
}

/// Connections beside those that are served: refused, or late. One address may have half as many
/// refused.
constexpr int64_t kMaxBrief = 64;
/// How long these may take when all else is over: a client cut off in the middle is not told.
constexpr std::chrono::milliseconds kBriefPatience{1500};

}  // namespace

struct TcpServer::Impl {
  /// What is done with a connection. Connections that are not served end soon.
  enum class Way { kServe, kLate, kRefuse };
  /// A connection and its thread.
  struct Client {
    std::unique_ptr<TcpConnection> connection;
    Way way = Way::kServe;
    std::string address{};
    bool is_over = false;  // guarded by the server's mutex
    std::jthread thread{};
  };

  void listen(const std::string& host, int port);
  /// Null: accepting is over.
  std::unique_ptr<TcpConnection> accept();
  /// Accepts a client into a new connection's socket; an error if none came.
  boost::system::error_code accept_one(std::unique_ptr<TcpConnection>& connection);
  void take(std::unique_ptr<TcpConnection> connection, const std::stop_token& drain);
  void begin(std::unique_ptr<TcpConnection> connection, Way way, const std::string& address,
             const std::stop_token& drain);
  void serve(Client& client, const std::stop_token& drain);
  void remove_ended();
  /// Connections served, only those from `address` unless it is null.
  int64_t num_served(const std::string* address = nullptr) const REQUIRES(mutex) {
    return num(true, address);
  }
  int64_t num_brief(const std::string* address = nullptr) const REQUIRES(mutex) {
    return num(false, address);
  }
  int64_t num(bool are_served, const std::string* address) const REQUIRES(mutex);
  void drain();
  void close_if_drained();
  /// Ends accepting.
  void end();
  /// Takes the connections that the system has already accepted.
  void take_rest(const std::stop_token& drain);

  Limits limits;
  MakeConnection make;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer grace{context};
  bool is_draining = false, is_over = false;  // the accepting thread's
  std::stop_source stop_all{};
  Mutex mutex{};
  std::condition_variable one_ended{};
  std::list<Client> clients GUARDED_BY(mutex){};
};

TcpServer::TcpServer(const std::string& host, int port, Limits limits, MakeConnection make)
    : impl_(new Impl{.limits = limits, .make = std::move(make)}) {
  impl_->listen(host, port);
}

TcpServer::~TcpServer() = default;

void TcpServer::check_free(const std::string& host, int port) {
  asio::io_context context;
  bound(context, host, port);
}

int TcpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

void TcpServer::Impl::listen(const std::string& host, int port) {
  acceptor = bound(context, host, port);
  try {
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw UserError("cannot listen at {} port {}: {}", host, port, error.code().message());
  }
}

boost::system::error_code TcpServer::Impl::accept_one(std::unique_ptr<TcpConnection>& connection) {
  try {
    connection = make();  // opens files
  } catch (const boost::system::system_error& error) {
    return error.code();
  }
  boost::system::error_code result;
  bool is_done = false;
  acceptor.async_accept(connection->socket(), [&](const boost::system::error_code& error) {
    result = error;
    is_done = true;
  });
  context.restart();
  while (!is_done) context.run_one();
  return result;
}

std::unique_ptr<TcpConnection> TcpServer::Impl::accept() {
  while (!is_over) {
    std::unique_ptr<TcpConnection> connection;
    const boost::system::error_code failed = accept_one(connection);
    if (!failed) return connection;
    if (is_over) break;
    spdlog::warn("cannot accept a connection: {}", failed.message());
    connection.reset();
    Lock lock(mutex);  // perhaps no files are left: one connection less helps
    one_ended.wait_for(lock.native(), std::chrono::milliseconds(100));
    lock.unlock();
    context.restart();
    context.poll();  // a stop may have come
  }
  return nullptr;
}

void TcpServer::Impl::serve(Client& client, const std::stop_token& drain) {
  try {
    const std::stop_token stop = stop_all.get_token();
    if (client.way == Way::kRefuse) {
      client.connection->refuse_one_more(stop);
    } else {
      client.connection->serve(drain, stop);
    }
  } catch (const Interrupted&) {  // the client sees that the connection is cut
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", first_line(error.what()));
  }
  client.connection.reset();
  {
    const Lock lock(mutex);
    client.is_over = true;
    one_ended.notify_all();
  }
  asio::post(context, [this] { close_if_drained(); });
}

int64_t TcpServer::Impl::num(bool are_served, const std::string* address) const {
  return std::ranges::count_if(clients, [&](const Client& one) {
    return (one.way == Way::kServe) == are_served && !one.is_over &&
           (!address || one.address == *address);
  });
}

void TcpServer::Impl::take(std::unique_ptr<TcpConnection> connection,
                           const std::stop_token& drain) {
  ::fcntl(connection->socket().native_handle(), F_SETFD, FD_CLOEXEC);
  notice_vanishing(connection->socket());
  const std::string address = peer_of(connection->socket());
  remove_ended();
  Way way = is_draining ? Way::kLate : Way::kServe;
  {
    const Lock lock(mutex);
    const bool is_over_limit = num_served() >= limits.connections ||
                               num_served(&address) >= limits.connections_per_address;
    if (way == Way::kServe && is_over_limit) way = Way::kRefuse;
    const bool is_much = way == Way::kRefuse && num_brief(&address) >= kMaxBrief / 2;
    if (way != Way::kServe && (is_much || num_brief() >= kMaxBrief)) return;  // it is cut
  }
  try {
    begin(std::move(connection), way, address, drain);
  } catch (const std::system_error& error) {
    spdlog::warn("cannot serve a connection: {}", first_line(error.what()));
  }
}

void TcpServer::Impl::begin(std::unique_ptr<TcpConnection> connection, Way way,
                            const std::string& address, const std::stop_token& drain) {
  const Lock lock(mutex);
  Client& client = clients.emplace_back(
      Client{.connection = std::move(connection), .way = way, .address = address});
  try {
    client.thread = std::jthread([this, &client, drain] { serve(client, drain); });
  } catch (...) {  // there are no threads left
    clients.pop_back();
    throw;
  }
}

void TcpServer::Impl::remove_ended() {
  std::list<Client> ended;  // joined without the mutex
  const Lock lock(mutex);
  for (auto client = clients.begin(); client != clients.end();) {
    const auto next = std::next(client);
    if (client->is_over) ended.splice(ended.begin(), clients, client);
    client = next;
  }
}

void TcpServer::Impl::drain() {
  is_draining = true;
  grace.expires_after(steady_seconds(limits.grace_seconds));
  grace.async_wait([this](const boost::system::error_code&) { end(); });
  if (!limits.takes_late) end();
  close_if_drained();
}

void TcpServer::Impl::close_if_drained() {
  const Lock lock(mutex);
  if (is_draining && num_served() == 0) end();
}

void TcpServer::Impl::end() {
  is_over = true;
  boost::system::error_code ignored;
  acceptor.cancel(ignored);
}

void TcpServer::Impl::take_rest(const std::stop_token& drain) {
  boost::system::error_code failed;
  acceptor.non_blocking(true, failed);
  try {
    for (int64_t taken = 0; !failed && taken < kMaxBrief; ++taken) {  // others may come forever
      auto connection = make();
      acceptor.accept(connection->socket(), failed);
      if (!failed) take(std::move(connection), drain);
    }
  } catch (const boost::system::system_error& error) {  // no files are left
    spdlog::warn("cannot accept a connection: {}", error.code().message());
  }
}

void TcpServer::run(const std::stop_token& stop) {
  Impl& impl = *impl_;
  const std::stop_callback on_stop(
      stop, [&impl] { asio::post(impl.context, [&impl] { impl.drain(); }); });
  while (auto connection = impl.accept()) impl.take(std::move(connection), stop);
  if (impl.limits.takes_late) impl.take_rest(stop);
  boost::system::error_code ignored;
  impl.acceptor.close(ignored);
  std::list<Impl::Client> rest;
  {
    Lock lock(impl.mutex);
    impl.one_ended.wait_until(lock.native(), impl.grace.expiry(),
                              [&impl]() REQUIRES(impl.mutex) { return impl.num_served() == 0; });
    impl.one_ended.wait_for(lock.native(), kBriefPatience, [&impl]() REQUIRES(impl.mutex) {
      return std::ranges::all_of(impl.clients, [](const auto& one) {
        return one.way == Impl::Way::kServe || one.is_over;  // whose time is up
      });
    });
    rest.swap(impl.clients);
  }
  impl.stop_all.request_stop();
  rest.clear();  // joined without the mutex
}

}  // namespace predgen::serve
