#pragma once

#include <cstdint>

// The convolutions and activations of a DAC codec on CPUs, without LibTorch: one source,
// dac_kernels_impl.h, compiled for each instruction set. Sounds are float32 [rows,channels], one
// row per time step. Sums run over taps and channels in a fixed order, so that a row's bits do not
// depend on which others are computed with it.

namespace predgen {

/// y[n] = bias + sum over taps t of x[n + t * dilation] W[t], and add[n] if there is one.
struct TapProduct {
  const float* x = nullptr;        // [rows + (taps - 1) * dilation,in]
  const float* weights = nullptr;  // panels of outputs, each [taps,in,its width]; see panel_width()
  const float* bias = nullptr;     // [out rounded up to `lanes`]
  const float* add = nullptr;      // [rows,out]; null: none
  float* y = nullptr;              // [rows,out]
  int64_t rows = 0, in = 0, out = 0, taps = 1, dilation = 1;
};

struct DacKernels {
  int64_t lanes = 0;  // outputs per vector; a panel has up to kPanelVectors vectors
  /// Rows [begin,end) of a panel.
  void (*multiply)(const TapProduct& product, int64_t panel, int64_t begin, int64_t end);
  /// to = x + sin²(alpha x) * inverse, by channel; `to` may be x. For |alpha x| above 10^4 the sine
  /// is no longer exact.
  void (*snake)(const float* x, const float* alpha, const float* inverse, int64_t rows,
                int64_t channels, float* to);
};

constexpr int64_t kPanelVectors = 3;

/// Outputs of a panel, padding included; it begins at weight
/// panel * kPanelVectors * lanes * taps * in.
constexpr int64_t panel_width(int64_t out, int64_t lanes, int64_t panel) {
  const int64_t left = out - panel * kPanelVectors * lanes, vectors = (left + lanes - 1) / lanes;
  return (vectors < kPanelVectors ? vectors : kPanelVectors) * lanes;
}
constexpr int64_t num_panels(int64_t out, int64_t lanes) {
  return (out + kPanelVectors * lanes - 1) / (kPanelVectors * lanes);
}

/// The kernels for this processor, or for a lower level if ATEN_CPU_CAPABILITY asks for it.
const DacKernels& dac_kernels();

extern const DacKernels kPlainDacKernels;
#if defined(__x86_64__)
extern const DacKernels kAvx2DacKernels;    // with FMA
extern const DacKernels kAvx512DacKernels;  // F, BW, DQ, VL
#endif

}  // namespace predgen
