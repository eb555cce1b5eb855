#include "cli/prefix_store.h"

#include <cmath>

#include "core/hash.h"
#include "core/version.h"
#include "model/weights/weight_files.h"
#include "serve/prefix_store.h"

namespace predgen::cli {

std::unique_ptr<serve::PrefixStore> open_prefix_store(const serve::ServeConfig& config,
                                                      const ModelOptions& model,
                                                      const Checkpoint& checkpoint, Engine& engine,
                                                      EngineLock& engine_lock) {
  if (config.prefix_cache.empty()) return nullptr;
  serve::KnownHashes known(std::filesystem::path(config.prefix_cache) / "weights.json");
  Hasher identity;  // files and settings, and what they compute on this machine
  identity.add(program_version()).add(known.hash(checkpoint.weight_files()));
  if (!model.adapter.empty()) identity.add(known.hash(weight_files(model.adapter)));
  identity.add(model.device).add(model.dtype).add(model.quantize);
  const EngineLock::Hold hold(engine_lock);
  if (engine.model().kv_layout().num_states == 0) {
    Sequence probe = engine.make_sequence(16);
    probe.append(TokenIds{1, 2, 3, 4, 5, 6, 7, 8});
    engine.run({.sequence = &probe});
    for (const auto& [keys, values] : probe.rows(7)) {
      for (const at::Tensor& side : {keys, values}) {
        identity.add({static_cast<const char*>(side.const_data_ptr()), side.nbytes()});
      }
    }
  }
  auto store = std::make_unique<serve::PrefixStore>(
      serve::PrefixStore::Options{.folder = config.prefix_cache,
                                  .max_bytes = std::llround(config.prefix_cache_gib * (1 << 30)),
                                  .identity = identity.hex()},
      engine.model().kv_layout());
  known.save();
  return store;
}

}  // namespace predgen::cli
