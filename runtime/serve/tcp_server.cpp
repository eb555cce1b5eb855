#include "runtime/serve/tcp_server.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace predgen {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

tcp::endpoint endpoint_of(const std::string& host, int port) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) throw UserError("host {}: give an address, such as 127.0.0.1 or 0.0.0.0", host);
  return {address, static_cast<uint16_t>(port)};
}

}  // namespace

struct TcpServer::Impl {
  /// A connection and its thread.
  struct Client {
    std::unique_ptr<TcpConnection> connection;
    bool is_over = false;  // with the mutex
    std::jthread thread{};
  };

  void listen(const std::string& host, int port);
  /// Nothing: `stop` was asked for.
  std::unique_ptr<TcpConnection> accept(const std::stop_token& stop);
  void begin(std::unique_ptr<TcpConnection> connection, const std::stop_token& drain);
  void serve(Client& client, const std::stop_token& drain);
  /// Joins the threads that are over; returns how many are left.
  int64_t remove_ended();

  Limits limits;
  MakeConnection make;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  std::stop_source stop_all{};
  std::mutex mutex{};
  std::condition_variable one_ended{};
  std::list<Client> clients{};
};

TcpServer::TcpServer(const std::string& host, int port, Limits limits, MakeConnection make)
    : impl_(new Impl{.limits = limits, .make = std::move(make)}) {
  impl_->listen(host, port);
}

TcpServer::~TcpServer() = default;

int TcpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

void TcpServer::Impl::listen(const std::string& host, int port) {
  const tcp::endpoint endpoint = endpoint_of(host, port);
  try {
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw UserError("cannot listen at {} port {}: {}", host, port, error.code().message());
  }
}

std::unique_ptr<TcpConnection> TcpServer::Impl::accept(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto connection = make();
    boost::system::error_code failed;
    acceptor.async_accept(connection->socket(),
                          [&](const boost::system::error_code& error) { failed = error; });
    context.restart();
    context.run();
    if (!failed) return connection;
    if (stop.stop_requested()) break;
    spdlog::warn("cannot accept a connection: {}", failed.message());
    std::unique_lock lock(mutex);  // perhaps there are no files left: one connection less helps
    one_ended.wait_for(lock, std::chrono::milliseconds(100));
  }
  return nullptr;
}

void TcpServer::Impl::serve(Client& client, const std::stop_token& drain) {
  try {
    client.connection->serve(drain, stop_all.get_token());
  } catch (const Interrupted&) {  // the client sees that the connection is cut
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", first_line(error.what()));
  }
  client.connection.reset();
  const std::lock_guard lock(mutex);
  client.is_over = true;
  one_ended.notify_all();
}

void TcpServer::Impl::begin(std::unique_ptr<TcpConnection> connection,
                            const std::stop_token& drain) {
  const std::lock_guard lock(mutex);
  Client& client = clients.emplace_back(Client{.connection = std::move(connection)});
  client.thread = std::jthread([this, &client, drain] { serve(client, drain); });
}

int64_t TcpServer::Impl::remove_ended() {
  std::list<Client> ended;
  const std::lock_guard lock(mutex);
  for (auto client = clients.begin(); client != clients.end();) {
    const auto next = std::next(client);
    if (client->is_over) ended.splice(ended.begin(), clients, client);
    client = next;
  }
  return std::ssize(clients);
}

void TcpServer::run(const std::stop_token& stop) {
  Impl& impl = *impl_;
  const std::stop_callback on_stop(
      stop, [&impl] { asio::post(impl.context, [&impl] { impl.acceptor.close(); }); });
  while (auto connection = impl.accept(stop)) {
    if (impl.remove_ended() < impl.limits.connections) {
      impl.begin(std::move(connection), stop);
    } else {
      connection->refuse_one_more();
    }
  }
  boost::system::error_code ignored;
  impl.acceptor.close(ignored);
  {
    std::unique_lock lock(impl.mutex);
    impl.one_ended.wait_for(
        lock, std::chrono::duration<double>(impl.limits.grace_seconds), [&impl] {
          return std::ranges::all_of(impl.clients, [](const auto& one) { return one.is_over; });
        });
  }
  impl.stop_all.request_stop();
  impl.clients.clear();  // joins
}

}  // namespace predgen
