#pragma once

#include <filesystem>

#include "tests/fakes/small_dac.h"
#include "tests/fakes/small_zonos_transformer.h"

namespace predgen {

/// A voice as Zyphra publishes it, its codec in dac_44khz, with random weights.
inline void write_small_zonos(const std::filesystem::path& folder) {
  make_folder(folder);
  write_small_transformer(folder);
  DacConfig codec = small_dac_config();
  codec.num_codebooks = kZonosCodebooks;
  codec.codebook_size = 1024;
  write_dac(folder / "dac_44khz", codec);
}

}  // namespace predgen
