#pragma once

namespace predgen {

/// From now on Ctrl-C and SIGTERM only set a flag; a second one ends the process at once (130).
void install_interrupt_handler();

bool interrupted();

/// Throws Interrupted. Call it where stopping loses nothing.
void throw_if_interrupted();

}  // namespace predgen
