#pragma once

namespace predgen::cli {

/// What `predgen doctor` says of the machine: processor, memory, GPUs, loudspeaker and espeak-ng.
void print_machine();

}  // namespace predgen::cli
