#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/dataset_store.h"
#include "model/model_config.h"
#include "train/objectives/objective.h"
#include "train/train_config.h"

namespace predgen::train {

/// What a run's memory depends on besides its configuration.
struct PlanCase {
  int64_t row_tokens = 0;     // tokens of the longest row
  int64_t taught_tokens = 0;  // of it, at most
  int64_t noisy_tokens = 0;   // of it, at most: compared with the model's noiseless output
  bool has_segments = false;  // rows have parts that do not see each other
  int world_size = 1;
  bool is_cuda = false;
  bool bfloat16_products = true;  // has_bfloat16_products()
  int64_t process_bytes = 0;      // on a CPU: resident before loading a model
};

/// The case for a run on `device`; call it before this process loads a model.
PlanCase case_of(c10::Device device, int world_size);

/// Sets the sizes of the longest row that the records give. `dataset` must not be empty.
void set_longest_row(const data::DatasetReader& dataset, const Objective& objective,
                     PlanCase& plan_case);

constexpr int64_t kFloat = 4, kHalf = 2;  // bytes of a value

/// Counts of a layer's values.
struct LayerSizes {
  int64_t values = 0;  // of its linears
  int64_t width = 0;   // that a token has between the products of its MLP, or of its experts
  // Of its adapters: values of the reduced inputs, total width of the inputs, and of those not
  // shared with an earlier linear (groups: q, k, v; o; gate, up; down).
  int64_t ranks = 0, inputs = 0, shared_inputs = 0;
  bool adapts_attended = false;  // the linear that attention's result goes into has one
};

/// Counts of values, and the bytes of one.
struct PlanSizes {
  PlanSizes(const ModelConfig& model_config, const TrainConfig& train_config,
            const PlanCase& given);

  bool is_full() const { return train.mode == TrainMode::kFull; }
  int64_t num_recomputed() const {
    return std::clamp<int64_t>(train.num_recomputed, 0, model.num_layers());
  }
  int64_t tokens() const { return train.batch_size * plan_case.row_tokens; }
  /// Bytes per token that autograd saves for a layer, for the one with the most, and for all from
  /// `first` on.
  int64_t saved_of(int64_t layer) const;
  int64_t most_saved() const;
  int64_t saved_from(int64_t first) const;
  /// And for what all layers get of a token beside the layer before (LayerInputs).
  int64_t saved_of_layer_inputs() const;

  const ModelConfig& model;
  const TrainConfig& train;
  const PlanCase& plan_case;
  bool narrow;                      // autocast to bfloat16
  int64_t weight_size, value_size;  // bytes of a frozen weight, of an activation
  int64_t E, V, P;                  // widths: hidden, vocabulary, input of each layer
  std::vector<LayerSizes> layers;
  int64_t widest = 0, most_values = 0;  // of LayerSizes, in any layer
  int64_t largest_linear = 0;
  int64_t outside_values = 0;  // embeddings, a head, norms and biases
  int64_t pieces = 1;          // pieces that a layer is cut into
  int64_t trained = 0;
};

}  // namespace predgen::train
