#include "hear/onnx/onnx_graph.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

void check_graph(const OnnxGraph& graph, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& kind) {
  const auto check = [&](const auto& wanted, const auto& names, const char* what) {
    for (const std::string& name : wanted) {
      if (std::ranges::find(names, name) != names.end()) continue;
      throw UserError("{}: is no network of {}: it has no {} '{}'", graph.name(), kind, what, name);
    }
  };
  check(inputs, graph.inputs(), "input");
  check(outputs, graph.outputs(), "output");
}

}  // namespace predgen
