// The emulated kernels once more, compiled so that EmulationChecks sees every access.
#include "tests/model/gpu/emulated_kernels.cpp"
