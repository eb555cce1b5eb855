#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <span>

namespace predgen {

struct SafetensorsType {
  const char* name;
  at::ScalarType type;
};

constexpr size_t kSafetensorsLengthBytes = 8;  // the header's length, little endian

/// The supported types of safetensors files, in the order in which the official library writes
/// their tensors.
std::span<const SafetensorsType> safetensors_types();

}  // namespace predgen
