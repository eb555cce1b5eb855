#pragma once

namespace predgen {

/// Sets what a GPU's speed and numerics depend on, whatever the environment says: no TF32 for
/// float32, partial sums of a product are added in float32, no cuDNN attention. Applies to the
/// whole process: programs call it once, before any other work.
void configure_math();

}  // namespace predgen
