#include "train/distributed/process_communicator.h"

#include <c10/util/Logging.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "model/gpu/cuda_module.h"
#include "train/distributed/rank_watch.h"

namespace predgen::train {
namespace {

using std::chrono::milliseconds;
using Store = c10::intrusive_ptr<c10d::Store>;
using Backend = c10::intrusive_ptr<c10d::Backend>;

constexpr std::chrono::seconds kToAsk{3};

std::string check_backend(const std::string& name) {
  if (name == "gloo") return name;
  if (name != "nccl" && name != "auto") {
    throw UserError("backend \"{}\": must be auto, nccl or gloo", name);
  }
  const bool has_nccl = has_cuda() && cuda_support().module->make_nccl_backend;
  if (name == "auto") return has_nccl ? "nccl" : "gloo";
  if (!has_cuda()) throw UserError("backend \"nccl\": no CUDA GPU is visible; use gloo");
  if (!has_nccl) throw UserError("backend \"nccl\": this build has no NCCL; use gloo");
  return name;
}

/// A socket reachable only from this machine. c10d would listen on every network.
int bind_to_this_machine(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // as c10d does
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  const std::string why = std::strerror(errno);
  close(socket);
  throw std::runtime_error(why);
}

/// Port 0: any free one.
c10::intrusive_ptr<c10d::TCPStore> open_store(const std::string& address, uint16_t port,
                                              bool serves, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = port;
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  if (serves && address == kThisMachine) options.masterListenFd = bind_to_this_machine(port);
  return c10::make_intrusive<c10d::TCPStore>(address, options);
}

Store connect(const RankPlace& place, milliseconds timeout) {
  try {
    return open_store(place.address, place.port, place.serves_store, timeout);
  } catch (const std::exception& error) {
    throw Error("rank {} cannot {} the store of the ranks at {}:{}: {}", place.rank,
                place.serves_store ? "open" : "reach", place.address, place.port,
                first_line(error.what()));
  }
}

/// Error naming the ranks that do not connect in time.
void wait_for_all(c10d::Store& store, const RankPlace& place, std::chrono::seconds timeout) {
  const auto key = [](int rank) { return fmt::format("predgen/here/{}", rank); };
  store.set(key(place.rank), std::vector<uint8_t>{1});
  std::vector<std::string> keys;
  for (int rank = 0; rank < place.world_size; ++rank) keys.push_back(key(rank));
  try {
    store.wait(keys, timeout);
  } catch (const std::exception&) {
    std::string missing;
    for (int rank = 0; rank < place.world_size; ++rank) {
      if (!store.check({key(rank)})) missing += fmt::format(" {}", rank);
    }
    throw Error("of {} ranks these did not connect within {} s:{}", place.world_size,
                timeout.count(), missing);
  }
}

Backend make_gloo(const Store& store, const RankPlace& place, milliseconds timeout) {
  using Gloo = c10d::ProcessGroupGloo;
  auto options = Gloo::Options::create(timeout);
  if (place.address == kThisMachine) {
    options->devices.push_back(Gloo::createDeviceForHostname(kThisMachine));
  } else {
    options = Gloo::Options::create_default(timeout);  // reads GLOO_SOCKET_IFNAME
  }
  return c10::make_intrusive<Gloo>(store, place.rank, place.world_size, options);
}

}  // namespace

class ProcessCommunicator::Group {
 public:
  Group(const RankPlace& place, const ConnectOptions& options, std::function<int64_t()> step)
      : place_(place),
        options_(options),
        backend_(check_backend(options.backend)),
        timeout_(options.start_timeout) {
    FLAGS_caffe2_log_level = c10::GLOG_FATAL;  // c10d logs a backtrace for every error it throws
    const Store connection = connect(place, options.start_timeout);
    try {
      store_ = c10::make_intrusive<c10d::PrefixStore>("predgen/" + place.attempt, connection);
      wait_for_all(*store_, place, options.start_timeout);
      watch_ = std::make_unique<RankWatch>(store_, place.rank, place.world_size, std::move(step));
      gloo_ = make_gloo(store_, place, options.start_timeout);
      if (backend_ == "nccl") {
        nccl_ = cuda_support().module->make_nccl_backend(store_, place.rank, place.world_size,
                                                         options.start_timeout);
      }
      // No rank may leave while another still connects to it.
      std::vector<at::Tensor> one{at::zeros({1})};
      wait(*gloo_->allreduce(one));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error("rank {} cannot connect to the others: {}", place.rank, first_line(error.what()));
    }
  }
  ~Group() {
    gloo_.reset();
    nccl_.reset();
    // The others notice the failure only now, and ask the store for its reason.
    if (has_failed_ && place_.serves_store) std::this_thread::sleep_for(kToAsk);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const RankPlace& place() const { return place_; }

  void report_failure(const std::string& reason) {
    has_failed_ = true;
    watch_->report(reason);
  }

  /// Runs a collective of tensors that are all on the device of `tensor`.
  void run(const char* name, const at::Tensor& tensor,
           const std::function<c10::intrusive_ptr<c10d::Work>(c10d::Backend&)>& start) {
    const at::NoGradGuard no_grad;
    Backend& backend = nccl_ && tensor.is_cuda() ? nccl_ : gloo_;
    try {
      wait(*start(*backend));
    } catch (const std::exception& error) {
      const std::string why = watch_->explain(name, first_line(error.what()));
      backend->abort();  // a GPU can do nothing else while an NCCL collective waits on it
      throw Error("{}", why);
    }
    if (timeout_ != options_.timeout) {  // all ranks have finished loading
      timeout_ = options_.timeout;
      gloo_->setTimeout(timeout_);
      if (nccl_) nccl_->setTimeout(timeout_);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits until the work is done or has failed: NCCL does not notice another rank's failure.
  void wait(c10d::Work& work) const {
    const Clock::time_point begin = Clock::now();
    while (!work.isCompleted()) {
      const Clock::duration waited = Clock::now() - begin;
      if (watch_->has_failure()) throw std::runtime_error("another rank has failed");
      if (waited > timeout_) {
        throw std::runtime_error(fmt::format("no end after {} s", timeout_.count()));
      }
      // Late by at most an eighth of the wait, and at most a millisecond.
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(waited / 8, std::chrono::microseconds(20), milliseconds(1)));
    }
    work.wait();  // throws what the work has thrown
  }

  const RankPlace place_;
  const ConnectOptions options_;
  const std::string backend_;
  std::chrono::seconds timeout_;  // of a collective; the first one's is longer
  Store store_;
  std::unique_ptr<RankWatch> watch_;
  Backend gloo_, nccl_;  // NCCL: null if GPU tensors go through Gloo
  bool has_failed_ = false;
};

ProcessCommunicator::ProcessCommunicator(const RankPlace& place, const ConnectOptions& options)
    : group_(std::make_unique<Group>(place, options, [this] { return step_.load(); })) {}

ProcessCommunicator::~ProcessCommunicator() = default;

int ProcessCommunicator::rank() const { return group_->place().rank; }
int ProcessCommunicator::world_size() const { return group_->place().world_size; }

void ProcessCommunicator::broadcast(const std::vector<at::Tensor>& tensors, int root) {
  for (const at::Tensor& tensor : tensors) {
    group_->run("broadcast", tensor, [&](c10d::Backend& backend) {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      std::vector<at::Tensor> one{tensor};
      return backend.broadcast(one, options);
    });
  }
}

void ProcessCommunicator::all_reduce(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    group_->run("all_reduce", tensor, [&](c10d::Backend& backend) {
      std::vector<at::Tensor> one{tensor};
      return backend.allreduce(one);
    });
  }
}

void ProcessCommunicator::all_gather(const at::Tensor& part, const at::Tensor& whole) {
  group_->run("all_gather", part, [&](c10d::Backend& backend) {
    at::Tensor output = whole, input = part.contiguous();
    return backend._allgather_base(output, input);
  });
}

void ProcessCommunicator::barrier() {
  std::vector<at::Tensor> one{at::zeros({1})};
  group_->run("barrier", one.front(),
              [&](c10d::Backend& backend) { return backend.allreduce(one); });
}

void ProcessCommunicator::report_failure(const std::string& reason) {
  group_->report_failure(first_line(reason));
}

class RankStore::Server {
 public:
  const c10::intrusive_ptr<c10d::TCPStore> store =
      open_store(kThisMachine, 0, /*serves=*/true, c10d::TCPStoreOptions{}.timeout);
};

RankStore::RankStore() : server_(std::make_unique<Server>()) {}
RankStore::~RankStore() = default;
uint16_t RankStore::port() const { return server_->store->getPort(); }

}  // namespace predgen::train
