#pragma once

#include <filesystem>

#include "tests/fakes/small_dac.h"
#include "tests/fakes/small_zonos_transformer.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// A voice as Zyphra publishes it, its codec in dac_44khz, with random weights; the transformer's
/// are each off by so much of it.
inline void write_small_zonos(const std::filesystem::path& folder, double error = 0.0) {
  make_folder(folder);
  write_small_transformer(folder, small_zonos_config(), [&](auto& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (error > 0) tensor *= 1 + error * normal(tensor.sizes(), name.size());
    }
  });
  DacConfig codec = small_dac_config();
  codec.num_codebooks = kZonosCodebooks;
  codec.codebook_size = 1024;
  write_dac(folder / "dac_44khz", codec);
}

}  // namespace predgen
