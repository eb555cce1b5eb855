#pragma once

#include <span>
#include <string_view>

namespace predgen {

/// A reader of files, requests or messages that come from elsewhere. `read` gives it `input` and
/// uses what it gives back. Whatever the input, it may only return or throw UserError.
struct FuzzTarget {
  const char* name;  // of its folder in tests/fuzz/seeds/
  void (*read)(std::string_view input);
};

std::span<const FuzzTarget> fuzz_targets();

// What comes to the ports of predgen serve.
void read_http(std::string_view input);
void read_web_socket(std::string_view input);
void read_request(std::string_view input);
void read_access(std::string_view input);
void read_transcripts(std::string_view input);
void read_realtime(std::string_view input);
void read_wyoming(std::string_view input);

/// For what no input may bring about, in whichever thread: ends the process.
void require(bool is_so, const char* what);

/// Returns whether the input was taken. Lets every exception but UserError through.
bool takes(const FuzzTarget& target, std::string_view input);

}  // namespace predgen
