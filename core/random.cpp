#include "core/random.h"

namespace predgen {
namespace {

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Random::Random(uint64_t seed, std::string_view purpose, uint64_t index) : state_(mix(seed)) {
  uint64_t name = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : purpose) name = (name ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  state_ = mix(state_ + name);
  state_ = mix(state_ + index * 0x9e3779b97f4a7c15ULL);
}

uint64_t Random::next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

uint64_t Random::below(uint64_t bound) {
  const uint64_t limit = -bound % bound;  // the low range that would bias towards small values
  uint64_t value = next();
  while (value < limit) value = next();
  return value % bound;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

}  // namespace predgen
