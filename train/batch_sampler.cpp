#include "train/batch_sampler.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace predgen::train {
namespace {
constexpr int64_t kBatchesPerWindow = 50;
}

BatchSampler::BatchSampler(std::vector<int64_t> lengths, int64_t batch_size, uint64_t seed)
    : lengths_(std::move(lengths)),
      batch_size_(std::min<int64_t>(batch_size, static_cast<int64_t>(lengths_.size()))),
      seed_(seed) {
  PREDGEN_CHECK(!lengths_.empty() && batch_size >= 1, "no records or no batch size");
}

int64_t BatchSampler::batches_per_epoch() const {
  return static_cast<int64_t>(lengths_.size()) / batch_size_;
}

std::vector<int64_t> BatchSampler::batch(int64_t number) {
  const int64_t epoch = number / batches_per_epoch();
  if (epoch != epoch_) shuffle_epoch(epoch);
  return batches_[static_cast<size_t>(number % batches_per_epoch())];
}

void BatchSampler::shuffle_epoch(int64_t epoch) {
  std::vector<int64_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(seed_, "epoch", static_cast<uint64_t>(epoch));
  random.shuffle(order);
  order.resize(static_cast<size_t>(batches_per_epoch() * batch_size_));

  batches_.clear();
  const auto window = static_cast<size_t>(kBatchesPerWindow * batch_size_);
  for (size_t begin = 0; begin < order.size(); begin += window) {
    const size_t end = std::min(begin + window, order.size());
    std::stable_sort(order.begin() + static_cast<int64_t>(begin),
                     order.begin() + static_cast<int64_t>(end), [&](int64_t a, int64_t b) {
                       return lengths_[static_cast<size_t>(a)] < lengths_[static_cast<size_t>(b)];
                     });
  }
  for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(batch_size_)) {
    const auto first = order.begin() + static_cast<int64_t>(begin);
    batches_.emplace_back(first, first + batch_size_);
  }
  random.shuffle(batches_);
  epoch_ = epoch;
}

std::vector<int64_t> BatchSampler::longest_batch() const {
  std::vector<int64_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + batch_size_, order.end(),
                    [&](int64_t a, int64_t b) {
                      return lengths_[static_cast<size_t>(a)] > lengths_[static_cast<size_t>(b)];
                    });
  order.resize(static_cast<size_t>(batch_size_));
  return order;
}

}  // namespace predgen::train
