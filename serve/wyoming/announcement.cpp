#include "serve/wyoming/announcement.h"

#include <span>

namespace predgen::serve {
namespace {

/// Ends with its stdin, which the program itself does not read.
constexpr const char* kScript = R"(
command -v avahi-publish-service >/dev/null || exit
avahi-publish-service --no-fail "$1" _wyoming._tcp "$2" >/dev/null 2>&1 &
echo
read -r end
kill $!
)";

}  // namespace

Announcement::Announcement(const std::string& name, int port)
    : process_("/bin/sh", {.arguments = {"-c", kScript, "", name, std::to_string(port)}}) {
  char line = 0;
  is_made_ = process_.receive(std::span(&line, 1), Seconds(5));
}

}  // namespace predgen::serve
