#pragma once

#include <ATen/ATen.h>

#include "model/transformer.h"

namespace predgen {

// Shapes: N positions, E hidden size, V vocabulary. Logits exist for a few positions at a time:
// [N,V] of all of them in float32 can be larger than the model.

/// Sum over n of  -log softmax(logits(hidden[n]))[target[n]].
/// With gradients enabled also adds  scale * d(sum)  to the gradients, through the graph of
/// `hidden`, which is freed.
double cross_entropy(const Transformer& model, const at::Tensor& hidden_NE,
                     const at::Tensor& targets_N, double scale);

/// Sum over n of weights[n] * KL(softmax(logits(teacher[n])) || softmax(logits(student[n]))).
/// The teacher is a constant; gradients as above, through the graph of `student`.
double kl_divergence(const Transformer& model, const at::Tensor& teacher_NE,
                     const at::Tensor& student_NE, const at::Tensor& weights_N, double scale);

}  // namespace predgen
