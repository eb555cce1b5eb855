#pragma once

#include <cstdint>

namespace predgen {

// The two laws of ITU-T G.711, by which telephones have a sample in one byte, at 8 kHz.

uint8_t to_ulaw(int16_t sample);
int16_t from_ulaw(uint8_t byte);
uint8_t to_alaw(int16_t sample);
int16_t from_alaw(uint8_t byte);

}  // namespace predgen
