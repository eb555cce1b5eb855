// In place of graphed_step_cuda.cpp where LibTorch has no CUDA.
#include "core/error.h"
#include "voice/zonos/graphed_step.h"

namespace predgen {

struct GraphedStep::Graph {};
struct GraphedStep::Shared {};

bool GraphedStep::is_available() { return false; }

GraphedStep::GraphedStep(const ZonosModel& model) : model_(model) {}
GraphedStep::~GraphedStep() = default;

void GraphedStep::prepare(int64_t, int64_t) {}

at::Tensor GraphedStep::run(const at::Tensor&, double, ZonosCache&) {
  throw Error(std::string("this build has no CUDA graphs"));
}

}  // namespace predgen
