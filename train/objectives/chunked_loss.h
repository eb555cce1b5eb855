#pragma once

#include <ATen/ATen.h>

#include "model/transformer.h"
#include "train/objectives/objective.h"

namespace predgen::train {

// Shapes: N positions, E hidden size, V vocabulary. Logits exist for a few positions at a time: all
// of them, [N,V] in float32, can be larger than the model.

/// The targets of a loss term at N positions.
struct TaughtRows {
  at::Tensor students_NE{};  // hidden states
  at::Tensor targets_N{};    // int64; or undefined, and
  at::Tensor teachers_NE{};  // hidden states
  at::Tensor weights_N{};    // undefined: 1 each
  double label_smoothing = 0.0;
};

/// Sum over n of weights[n] times
///   cross-entropy with targets[n], a share `label_smoothing` of which is spread over the V tokens,
///   or KL(softmax(logits(teacher[n])) || softmax(logits(student[n]))), the teacher constant.
/// Returns a double [] on the model's device, without waiting. With gradients enabled, `gradients`
/// gets scale * d(sum) / d(students), float32 [N,E]; a trained head gets its gradient, too.
at::Tensor chunked_loss(const Transformer& model, const TaughtRows& rows, double scale,
                        at::Tensor* gradients_NE);

/// Number of positions whose logits exist at a time.
int64_t chunk_positions(int64_t vocab_size);

}  // namespace predgen::train
