#include "train/objectives/chunked_loss.h"

#include <algorithm>
#include <functional>

#include "train/optim/precision.h"

namespace predgen {
namespace {

constexpr int64_t kLogitsPerChunk = 8 << 20;  // 32 MiB in float32

using ChunkLoss =
    std::function<at::Tensor(const at::Tensor& hidden_CE, int64_t begin, int64_t size)>;

// The chunks run on a detached copy of `hidden`; its gradient then goes down the graph once.
double sum_chunks(const Transformer& model, const at::Tensor& hidden_NE, double scale,
                  const ChunkLoss& chunk_loss) {
  const bool training = at::GradMode::is_enabled() && hidden_NE.requires_grad();
  const at::Tensor leaf_NE = hidden_NE.detach();
  leaf_NE.requires_grad_(training);
  const int64_t rows = std::max<int64_t>(1, kLogitsPerChunk / model.vocab_size());
  double sum = 0.0;
  for (int64_t begin = 0; begin < leaf_NE.size(0); begin += rows) {
    const int64_t size = std::min(rows, leaf_NE.size(0) - begin);
    const at::Tensor loss = chunk_loss(leaf_NE.narrow(0, begin, size), begin, size);
    sum += loss.item<double>();  // a host sync, once per chunk
    if (training) (loss * scale).backward();
  }
  if (training && leaf_NE.grad().defined()) hidden_NE.backward(leaf_NE.grad());
  return sum;
}

}  // namespace

double cross_entropy(const Transformer& model, const at::Tensor& hidden_NE,
                     const at::Tensor& targets_N, double scale) {
  return sum_chunks(
      model, hidden_NE, scale, [&](const at::Tensor& hidden_CE, int64_t begin, int64_t size) {
        return at::cross_entropy_loss(model.logits(hidden_CE), targets_N.narrow(0, begin, size), {},
                                      at::Reduction::Sum);
      });
}

double kl_divergence(const Transformer& model, const at::Tensor& teacher_NE,
                     const at::Tensor& student_NE, const at::Tensor& weights_N, double scale) {
  return sum_chunks(
      model, student_NE, scale, [&](const at::Tensor& hidden_CE, int64_t begin, int64_t size) {
        at::Tensor teacher_CV;
        {
          const NoGradScope no_grad;
          teacher_CV = at::log_softmax(model.logits(teacher_NE.narrow(0, begin, size)), -1);
        }
        const at::Tensor student_CV = at::log_softmax(model.logits(hidden_CE), -1);
        const at::Tensor kl_C = (teacher_CV.exp() * (teacher_CV - student_CV)).sum(-1);
        return (kl_C * weights_N.narrow(0, begin, size)).sum();
      });
}

}  // namespace predgen
