#include "evaluate/gpu_energy.h"

#include <dlfcn.h>
#include <spdlog/spdlog.h>

#include <string>

namespace predgen::evaluate {
namespace {

// As nvml.h and cuda_runtime_api.h declare them; 0 is success.
using NvmlDevice = void*;
using Init = int();
using HandleByBusId = int(const char* bus_id, NvmlDevice*);
using TotalEnergy = int(NvmlDevice, unsigned long long* millijoules);  // NOLINT(google-runtime-int)
using BusIdOf = int(char* bus_id, int length, int device);

template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

EnergyCounter without(const std::string& what) {
  spdlog::info("energy is not measured: {}", what);
  return {};
}

}  // namespace

EnergyCounter make_energy_counter(const c10::Device& device) {
  if (!device.is_cuda()) return {};
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);  // stays while the process runs
  if (!nvml) return without("there is no libnvidia-ml.so.1");
  auto* init = find<Init>(nvml, "nvmlInit_v2");
  auto* by_bus_id = find<HandleByBusId>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  auto* total = find<TotalEnergy>(nvml, "nvmlDeviceGetTotalEnergyConsumption");
  // NVML numbers all GPUs, CUDA only those that it may use.
  auto* bus_id_of = find<BusIdOf>(RTLD_DEFAULT, "cudaDeviceGetPCIBusId");
  if (!bus_id_of) return without("the CUDA runtime does not say which GPU it is");
  if (!init || !by_bus_id || !total) return without("the driver's NVML is too old");
  char bus_id[32] = {};
  NvmlDevice gpu = nullptr;
  unsigned long long millijoules = 0;  // NOLINT(google-runtime-int)
  if (init() != 0 ||
      bus_id_of(bus_id, sizeof(bus_id), device.has_index() ? device.index() : 0) != 0 ||
      by_bus_id(bus_id, &gpu) != 0 || total(gpu, &millijoules) != 0) {
    return without("this GPU does not count it");
  }
  return [total, gpu]() -> std::optional<double> {
    unsigned long long used = 0;  // NOLINT(google-runtime-int)
    if (total(gpu, &used) != 0) return std::nullopt;
    return static_cast<double>(used) / 1000;
  };
}

}  // namespace predgen::evaluate
