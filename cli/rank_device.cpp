#include "cli/rank_device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/error.h"
#include "model/load_options.h"

namespace predgen::cli {

void choose_gpu(const train::RankPlace& place, const std::string& device) {
  if (device.starts_with("cuda")) {
    throw UserError("device: {} would put every rank on one GPU; use auto", device);
  }
  if (device != "auto" || !parse_device("auto").is_cuda()) return;
  const auto num_gpus = at::detail::getCUDAHooks().deviceCount();
  const int index = num_gpus == 1 ? 0 : place.local_rank;
  const at::Device own = parse_device(fmt::format("cuda:{}", index));
  c10::impl::VirtualGuardImpl(at::kCUDA).setDevice(own);
}

}  // namespace predgen::cli
