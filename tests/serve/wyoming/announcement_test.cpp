#include "serve/wyoming/announcement.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fakes/environment_variable.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/waiting.h"

namespace predgen::serve {
namespace {

namespace fs = std::filesystem;

std::string text_of_file(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Announcement, IsMadeByAvahisProgramAndEndsWithUs) {
  const TemporaryFolder folder;
  const fs::path program = folder.path() / "avahi-publish-service", told = folder.path() / "told";
  std::ofstream(program) << "#!/bin/sh\nprintf '%s|' $$ \"$@\" >" << told << ".new\nmv " << told
                         << ".new " << told << "\nexec sleep 600\n";
  fs::permissions(program, fs::perms::owner_all);
  const EnvironmentVariable path("PATH", (folder.path().string() + ":/usr/bin:/bin").c_str());
  pid_t publisher = 0;
  {
    const Announcement announcement("predgen on pi", 10700);
    EXPECT_TRUE(announcement.is_made());
    ASSERT_TRUE(comes_true([&] { return fs::exists(told); }));
    const std::string text = text_of_file(told);
    publisher = std::stoi(text);
    EXPECT_EQ(text.substr(text.find('|')), "|--no-fail|predgen on pi|_wyoming._tcp|10700|");
    EXPECT_EQ(kill(publisher, 0), 0);
  }
  EXPECT_TRUE(comes_true([&] {
    const std::string state = text_of_file("/proc/" + std::to_string(publisher) + "/stat");
    return state.empty() || state.find(") Z ") != std::string::npos;
  }));
}

TEST(Announcement, IsNotMadeWithoutAvahisProgram) {
  const EnvironmentVariable path("PATH", "/nowhere");
  EXPECT_FALSE(Announcement("predgen", 10700).is_made());
}

}  // namespace
}  // namespace predgen::serve
