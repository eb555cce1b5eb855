#include "train/distributed/communicator.h"

namespace predgen::train {

double sum_over_ranks(double value, Communicator& communicator) {
  const at::Tensor tensor = at::tensor({value}, at::kDouble);
  communicator.all_reduce({tensor});
  return tensor.item<double>();
}

}  // namespace predgen::train
