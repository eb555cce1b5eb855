// In place of nccl_backend_cuda.cpp where LibTorch has no CUDA.
#include "core/error.h"
#include "train/distributed/nccl_backend.h"

namespace predgen::train {

bool has_nccl() { return false; }

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>&, int,
                                                    int, std::chrono::milliseconds) {
  throw Error(std::string("this build has no NCCL"));
}

}  // namespace predgen::train
