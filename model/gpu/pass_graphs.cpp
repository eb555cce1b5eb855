#include "model/gpu/pass_graphs.h"

#include <algorithm>

#include "core/log.h"

namespace predgen {

bool PassGraphs::prepare(const PassKind& kind, const PassWork& work) {
  const auto found =
      std::ranges::find_if(graphs_, [&](const Graph& graph) { return graph.kind == kind; });
  if (found != graphs_.end()) {
    std::rotate(graphs_.begin(), found, found + 1);
    return static_cast<bool>(graphs_.front().replay);
  }
  if (graphs_.size() == kMost) graphs_.pop_back();
  PassWork replay;
  try {
    replay = capture_(work);
  } catch (const c10::OutOfMemoryError&) {
    spdlog::warn(
        "no memory for a graph of passes over {} tokens: they are launched kernel by kernel",
        kind.num_tokens);
  }
  graphs_.insert(graphs_.begin(), {kind, std::move(replay)});
  return static_cast<bool>(graphs_.front().replay);
}

at::Tensor PassGraphs::run(const PassKind& kind, const PassWork& work) {
  prepare(kind, work);
  const PassWork& replay = graphs_.front().replay;
  return replay ? replay() : work();
}

}  // namespace predgen
