#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <utility>

namespace predgen {

/// Of whole rows: keys and values by the place of the layer that made them, for layers that share
/// them.
using SharedRows = std::map<int64_t, std::pair<at::Tensor, at::Tensor>>;

/// What the layers of some models see of whole rows beside the hidden states.
struct SideInputs {
  at::Tensor layer_inputs_BTLP{};  // of LayerInputs; undefined: the model has none
  SharedRows shared{};             // filled by the layers, in their order
};

}  // namespace predgen
