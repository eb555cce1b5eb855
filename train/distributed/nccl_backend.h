#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace predgen::train {

/// Whether this build has NCCL.
bool has_nccl();

/// Collectives of tensors on the GPUs of the ranks; waits for each on the host, so that one that
/// fails throws. Error without NCCL.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size,
                                                    std::chrono::milliseconds timeout);

}  // namespace predgen::train
