#pragma once

namespace predgen {

/// What the speed and the numbers of a GPU rest on, whatever the environment says: float32 is never
/// computed in TF32, the parts of a product's sum are added in float32, and attention is never
/// cuDNN's. For the whole process: programs call it once, before any other work.
void configure_math();

}  // namespace predgen
