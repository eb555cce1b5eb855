#pragma once

namespace predgen::cli {

/// What `predgen` alone prints to stdout: what to do next, and what is installed. It opens no
/// model.
void print_welcome();

}  // namespace predgen::cli
