#include "model/weights/weight_check.h"

#include <set>

#include "core/error.h"

namespace predgen {

void check_weights(const std::vector<WeightSpec>& layout, const std::vector<std::string>& names,
                   const std::function<at::Tensor(const std::string&)>& tensor,
                   const std::string& where, const std::string& what) {
  const std::set<std::string> stored(names.begin(), names.end());
  std::set<std::string> used;
  for (const WeightSpec& weight : layout) {
    if (!stored.contains(weight.name)) {
      throw UserError("{}: tensor {} of {} is missing", where, weight.name, what);
    }
    const at::Tensor found = tensor(weight.name);
    if (!at::isFloatingType(found.scalar_type())) {
      throw UserError("{}: tensor {} has type {}, not a floating-point one", where, weight.name,
                      at::toString(found.scalar_type()));
    }
    if (found.sizes() != at::IntArrayRef(weight.shape)) {
      throw UserError("{}: tensor {} has shape {}, {} needs {}", where, weight.name,
                      c10::str(found.sizes()), what, c10::str(at::IntArrayRef(weight.shape)));
    }
    used.insert(weight.name);
  }
  for (const std::string& name : names) {
    if (!used.contains(name)) {
      throw UserError("{}: tensor {} belongs to no part of {}", where, name, what);
    }
  }
}

}  // namespace predgen
