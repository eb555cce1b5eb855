#include "train/run_identity.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "model/weights/weight_files.h"

namespace predgen::train {

OutputLock::OutputLock(const std::filesystem::path& folder) {
  make_folder(folder);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (reason == EWOULDBLOCK) {
    throw UserError("{}: another run writes there: wait for it, or output=... starts elsewhere",
                    folder.string());
  }
  spdlog::warn("{} cannot be locked ({}): start no second run with it meanwhile", folder.string(),
               strerror(reason));
}

OutputLock::~OutputLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace {

/// Whichever version of predgen wrote them.
std::string content_of(Json manifests) {
  for (Json& manifest : manifests) manifest.erase("predgen");
  return manifests.dump();
}

}  // namespace

RunIdentity run_identity(const TrainConfig& config, const data::DatasetReader& dataset) {
  RunIdentity identity = config.identity();
  const auto hash_of = [](const std::filesystem::path& path, const auto& files_of) {
    return path.empty() ? std::string() : hash_weights(files_of(path));
  };
  identity["model"] = hash_of(
      config.model, [](const auto& model) { return open_checkpoint(model)->weight_files(); });
  if (!config.initialize.empty()) {
    identity["initialize"] = Hasher().add_file(config.initialize).hex();
  }
  if (config.mode == TrainMode::kLora)
    identity["start_from"] = hash_of(config.start_from, weight_files);
  identity["dataset"] = Hasher().add(content_of(dataset.manifest())).hex();
  // Block scales were once spaced uniformly: such weights decode to other values.
  if (config.base.weights == BaseWeights::kNf4) {
    identity["base.weights"] += " with logarithmic scales";
  }
  return identity;
}

void check_same_run(const TrainConfig& config, const RunIdentity& identity,
                    const std::vector<const data::DatasetReader*>& others,
                    const TokenIds& stop_tokens, Communicator& communicator) {
  Hasher hasher;
  for (const auto& [key, value] : identity) hasher.add(key).add(value);
  // May change on resume but must match on all ranks: they decide when a collective is due.
  for (const int64_t value :
       {config.held_out_records, config.eval_every, config.save_every, config.log_every,
        config.stop_at_step, config.watch.every, config.watch.records, config.watch.max_new_tokens,
        config.watch.block_size, int64_t{config.base.shard}}) {
    hasher.add(std::to_string(value));
  }
  hasher.add(fmt::format("{}", config.outlier_factor));
  for (const data::DatasetReader* data : others)
    hasher.add(data ? data->manifest().dump() : "none");
  for (const TokenId token : stop_tokens) hasher.add(std::to_string(token));
  const std::string hash = hasher.hex();
  const auto size = static_cast<int64_t>(hash.size());
  const at::Tensor own = at::empty({1, size}, at::kByte);
  std::ranges::copy(hash, own.mutable_data_ptr<uint8_t>());
  const at::Tensor all = at::empty({communicator.world_size(), size}, at::kByte);
  communicator.all_gather(own, all);
  for (int rank = 1; rank < communicator.world_size(); ++rank) {
    if (!all[rank].equal(all[0])) {
      throw UserError("rank {} has another configuration or other data than rank 0", rank);
    }
  }
}

}  // namespace predgen::train
