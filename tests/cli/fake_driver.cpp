// In place of NVIDIA's driver, where a test wants one that shows a GPU.
extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
}
