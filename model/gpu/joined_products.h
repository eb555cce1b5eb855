#pragma once

#include <span>

#include "model/parts/decoder_layer.h"

namespace predgen {

/// Makes the weights of each layer's products over one input contiguous, so that they are one
/// product: queries, keys and, if they are of the same kind, values; gate and up. They stay
/// separate tensors, views of the whole.
void join_products(std::span<DecoderLayer> layers);

}  // namespace predgen
