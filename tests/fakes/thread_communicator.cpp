#include "tests/fakes/thread_communicator.h"

#include <ATen/core/grad_mode.h>

#include <condition_variable>
#include <functional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/mutex.h"

namespace predgen::train {
namespace {

/// What one rank brings to a collective.
struct Call {
  std::string name;                 // and its arguments, as far as they must be the same
  std::vector<at::Tensor> tensors;  // of the same sizes on every rank
};

std::string describe(const Call& call) {
  std::string text = call.name;
  for (const at::Tensor& tensor : call.tensors) {
    text += fmt::format(" {}{}", c10::toString(tensor.scalar_type()), c10::str(tensor.sizes()));
  }
  return text;
}

/// Where the threads meet. The last one to come does the work for all of them.
class Meeting {
 public:
  using Work = std::function<void(const std::vector<Call>& calls)>;  // by rank

  explicit Meeting(int world_size)
      : world_size_(world_size), calls_(static_cast<size_t>(world_size)) {}

  int world_size() const { return world_size_; }

  void meet(int rank, Call call, const Work& work) {
    Lock lock(mutex_);
    throw_if_broken();
    calls_[static_cast<size_t>(rank)] = std::move(call);
    waiting_.push_back(rank);
    if (left_ >= 0) break_up(left_);
    throw_if_broken();
    if (static_cast<int>(waiting_.size()) < world_size()) {
      const int64_t number = num_met_;
      changed_.wait(lock.native(),
                    [&]() REQUIRES(mutex_) { return num_met_ != number || !broken_.empty(); });
      if (num_met_ == number) throw_if_broken();
      return;
    }
    try {
      check_agreement();
      const at::NoGradGuard no_grad;
      work(calls_);
    } catch (const std::exception& error) {
      broken_ = error.what();
    }
    for (Call& done : calls_) done.tensors.clear();
    waiting_.clear();
    if (broken_.empty()) ++num_met_;
    changed_.notify_all();
    throw_if_broken();
  }

  void leave(int rank) {
    const Lock lock(mutex_);
    if (left_ < 0) left_ = rank;
    if (!waiting_.empty()) break_up(rank);
  }

 private:
  void throw_if_broken() const REQUIRES(mutex_) {
    if (!broken_.empty()) throw Error(broken_);
  }

  void break_up(int missing) REQUIRES(mutex_) {
    if (!broken_.empty()) return;
    const int waits = waiting_.front();
    broken_ = fmt::format("rank {} has ended or failed while rank {} waits for it in {}", missing,
                          waits, describe(calls_[static_cast<size_t>(waits)]));
    changed_.notify_all();
  }

  void check_agreement() const REQUIRES(mutex_) {
    const std::string first = describe(calls_.front());
    for (size_t rank = 1; rank < calls_.size(); ++rank) {
      const std::string other = describe(calls_[rank]);
      if (other != first) {
        throw Error("rank 0 is in {}, but rank {} in {}", first, rank, other);
      }
    }
  }

  const int world_size_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_ GUARDED_BY(mutex_);   // by rank
  std::vector<int> waiting_ GUARDED_BY(mutex_);  // ranks whose call is there
  int64_t num_met_ GUARDED_BY(mutex_) = 0;       // collectives that are over
  int left_ GUARDED_BY(mutex_) = -1;             // the first rank that has ended
  std::string broken_ GUARDED_BY(mutex_);        // what went wrong, once something has
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}
  ~ThreadCommunicator() override { meeting_->leave(rank_); }

  int rank() const override { return rank_; }
  int world_size() const override { return meeting_->world_size(); }

  void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
    PREDGEN_CHECK(root >= 0 && root < world_size(), "broadcast from rank {} of {}", root,
                  world_size());
    meeting_->meet(rank_, {fmt::format("broadcast from rank {}", root), tensors},
                   [root](const std::vector<Call>& calls) {
                     const auto& source = calls[static_cast<size_t>(root)].tensors;
                     for (const Call& call : calls) {
                       if (&call.tensors != &source) copy_all(source, call.tensors);
                     }
                   });
  }

  void all_reduce(const std::vector<at::Tensor>& tensors) override {
    meeting_->meet(rank_, {"all_reduce", tensors}, [](const std::vector<Call>& calls) {
      std::vector<at::Tensor> sums;
      for (const at::Tensor& tensor : calls.front().tensors) sums.push_back(tensor.clone());
      for (size_t rank = 1; rank < calls.size(); ++rank) {
        for (size_t i = 0; i < sums.size(); ++i) {
          sums[i].add_(calls[rank].tensors[i].to(sums[i].device()));
        }
      }
      for (const Call& call : calls) copy_all(sums, call.tensors);
    });
  }

  void all_gather(const at::Tensor& part, const at::Tensor& whole) override {
    check_sizes(part, whole);
    meeting_->meet(rank_, {"all_gather", {part, whole}}, [](const std::vector<Call>& calls) {
      for (const Call& call : calls) {
        for (size_t from = 0; from < calls.size(); ++from) {
          rows_of(call.tensors[1], from, calls.size()).copy_(calls[from].tensors[0]);
        }
      }
    });
  }

  void barrier() override {
    meeting_->meet(rank_, {"barrier", {}}, [](const auto&) {});
  }

 private:
  static void copy_all(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to) {
    for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }

  /// The share of rank `rank` in a tensor of all ranks' rows.
  static at::Tensor rows_of(const at::Tensor& whole, size_t rank, size_t world_size) {
    const int64_t rows = whole.size(0) / static_cast<int64_t>(world_size);
    return whole.narrow(0, static_cast<int64_t>(rank) * rows, rows);
  }

  void check_sizes(const at::Tensor& part, const at::Tensor& whole) const {
    PREDGEN_CHECK(part.dim() >= 1, "a part needs rows");
    std::vector<int64_t> sizes = part.sizes().vec();
    sizes[0] *= world_size();
    PREDGEN_CHECK(whole.sizes() == sizes, "the whole is {}, {} ranks' parts are {}",
                  c10::str(whole.sizes()), world_size(), c10::str(part.sizes()));
  }

  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int world_size) {
  PREDGEN_CHECK(world_size >= 1, "{} ranks", world_size);
  const auto meeting = std::make_shared<Meeting>(world_size);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < world_size; ++rank) {
    communicators.push_back(std::make_unique<ThreadCommunicator>(meeting, rank));
  }
  return communicators;
}

}  // namespace predgen::train
