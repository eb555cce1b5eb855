// A driver's library with GPUs at bus 3B and 3C.
#include <cstdlib>
#include <cstring>

namespace {
unsigned long long millijoules[] = {1'000, 1'000};
}

extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  constexpr int kNotFound = 6;
  if (std::strcmp(bus_id, "0000:3B:00.0") == 0) *device = &millijoules[0];
  if (std::strcmp(bus_id, "0000:3C:00.0") == 0) *device = &millijoules[1];
  return *device ? 0 : kNotFound;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* used) {
  if (const char* error = std::getenv("FAKE_NVML_ERROR")) return std::atoi(error);
  auto* total = static_cast<unsigned long long*>(device);
  *used = *total += total == &millijoules[1] ? 2'500 : 100;
  return 0;
}

}  // extern "C"
