#include "train/objectives/chunked_loss.h"

#include <algorithm>

#include "train/optim/precision.h"

namespace predgen::train {
namespace {

// Of float32 logits; with copies and gradients, a chunk takes two to four times that.
constexpr int64_t kLogitBytesPerChunk = 128 << 20;

// Shapes: C positions of a chunk.

/// Losses [C] of a chunk. The softmax overwrites `logits`, and the gradient the softmax.
class ChunkLoss {
 public:
  explicit ChunkLoss(const at::Tensor& logits_CV)
      : logits_CV_(logits_CV), normaliser_C1_(at::logsumexp(logits_CV, -1, true)) {}

  at::Tensor cross_entropy(const at::Tensor& targets_C, double smoothing) const {
    const at::Tensor chosen_C1 = logits_CV_.gather(1, targets_C.unsqueeze(1));
    at::Tensor losses_C1 = normaliser_C1_ - (1.0 - smoothing) * chosen_C1;
    if (smoothing > 0) losses_C1 -= smoothing * logits_CV_.mean(-1, true);
    return losses_C1.squeeze(1);
  }
  void cross_entropy_gradient(const at::Tensor& targets_C, double smoothing) const {
    to_softmax();
    if (smoothing > 0) logits_CV_.sub_(smoothing / static_cast<double>(logits_CV_.size(1)));
    const at::Tensor targets_C1 = targets_C.unsqueeze(1);
    logits_CV_.scatter_add_(1, targets_C1,
                            at::full_like(targets_C1, smoothing - 1.0, logits_CV_.options()));
  }

  /// `teacher`: log-probabilities.
  at::Tensor divergence(const at::Tensor& teacher_CV, const at::Tensor& probabilities_CV) const {
    return (probabilities_CV * (teacher_CV - logits_CV_)).sum(-1) + normaliser_C1_.squeeze(1);
  }
  void divergence_gradient(const at::Tensor& probabilities_CV) const {
    to_softmax();
    logits_CV_.sub_(probabilities_CV);
  }

 private:
  void to_softmax() const { logits_CV_.sub_(normaliser_C1_).exp_(); }

  const at::Tensor logits_CV_, normaliser_C1_;
};

/// Losses [C]; `logits` becomes their gradient if wanted.
at::Tensor chunk_losses(const Transformer& model, const TaughtRows& chunk,
                        const at::Tensor& logits_CV, bool wants_gradient) {
  const NoGradScope no_grad;
  const ChunkLoss loss(logits_CV);
  if (chunk.targets_N.defined()) {
    at::Tensor losses_C = loss.cross_entropy(chunk.targets_N, chunk.label_smoothing);
    if (wants_gradient) loss.cross_entropy_gradient(chunk.targets_N, chunk.label_smoothing);
    return losses_C;
  }
  const at::Tensor teacher_CV = at::log_softmax(model.logits(chunk.teachers_NE), -1);
  const at::Tensor probabilities_CV = teacher_CV.exp();
  at::Tensor losses_C = loss.divergence(teacher_CV, probabilities_CV);
  if (wants_gradient) loss.divergence_gradient(probabilities_CV);
  return losses_C;
}

TaughtRows chunk_of(const TaughtRows& rows, int64_t begin, int64_t size) {
  const auto part = [&](const at::Tensor& all) {
    return all.defined() ? all.narrow(0, begin, size) : all;
  };
  return {part(rows.students_NE), part(rows.targets_N), part(rows.teachers_NE),
          part(rows.weights_N), rows.label_smoothing};
}

}  // namespace

at::Tensor chunked_loss(const Transformer& model, const TaughtRows& rows, double scale,
                        at::Tensor* gradients_NE) {
  const bool wants_gradient = at::GradMode::is_enabled() && gradients_NE != nullptr;
  const int64_t num_positions = rows.students_NE.size(0);
  const int64_t chunk_size = chunk_positions(model.vocab_size());
  const at::Tensor sum = at::zeros({}, rows.students_NE.options().dtype(at::kDouble));
  if (wants_gradient)
    *gradients_NE = at::empty(rows.students_NE.sizes(), sum.options().dtype(at::kFloat));
  for (int64_t begin = 0; begin < num_positions; begin += chunk_size) {
    const int64_t size = std::min(chunk_size, num_positions - begin);
    const TaughtRows chunk = chunk_of(rows, begin, size);
    const at::Tensor hidden_CE = chunk.students_NE.detach();
    hidden_CE.requires_grad_(wants_gradient);
    const at::Tensor logits_CV = model.logits(hidden_CE);
    const at::Tensor losses_C = chunk_losses(model, chunk, logits_CV.detach(), wants_gradient);
    sum.add_((chunk.weights_N.defined() ? losses_C * chunk.weights_N : losses_C).sum(at::kDouble));
    if (!wants_gradient) continue;
    const at::Tensor gradient_CV = logits_CV.detach();
    if (chunk.weights_N.defined()) gradient_CV.mul_(chunk.weights_N.unsqueeze(1));
    gradient_CV.mul_(scale);
    logits_CV.backward(gradient_CV);
    gradients_NE->narrow(0, begin, size).copy_(hidden_CE.grad());
  }
  return sum;
}

int64_t chunk_positions(int64_t vocab_size) {
  const int64_t row_bytes = vocab_size * static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(1, kLogitBytesPerChunk / row_bytes);
}

}  // namespace predgen::train
