#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "model/model_config.h"

namespace predgen {

/// Rejects a file unless its tensors are exactly those of `layout`: UserError names a missing,
/// superfluous, misshapen or non-floating-point one. `names`, `tensor`: what the file holds;
/// `where`: the file; `what`: what it should be, with its article, for the message.
void check_weights(const std::vector<WeightSpec>& layout, const std::vector<std::string>& names,
                   const std::function<at::Tensor(const std::string&)>& tensor,
                   const std::string& where, const std::string& what);

}  // namespace predgen
