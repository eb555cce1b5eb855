#include "core/helper_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <string>

#include "core/error.h"

namespace predgen {
namespace {

TEST(HelperProcess, HasNoFileOfOursButItsSocketAndOurErrors) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);  // as a library may open one
  const int above = ::fcntl(socket, F_DUPFD, 200);
  HelperProcess process("/bin/cat");
  std::string line = "it runs\n";  // and has closed the libraries that it loaded
  ASSERT_TRUE(process.send(line, Seconds(20)) && process.receive(line, Seconds(20)));
  std::set<std::string> files;
  for (const auto& file :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process.pid()) + "/fd")) {
    files.insert(file.path().filename());
  }
  ::close(socket);
  ::close(above);
  EXPECT_EQ(files, (std::set<std::string>{"0", "1", "2"}));
}

TEST(HelperProcess, GetsItsArgumentsAndAnswersAtItsSocket) {
  HelperProcess process("/bin/sh",
                        {.arguments = {"-c", "read -r line; echo \"$1 $line\"", "", "a b"}});
  ASSERT_TRUE(process.send("c\n", Seconds(20)));
  std::string answer(6, '\0');
  ASSERT_TRUE(process.receive(answer, Seconds(20)));
  EXPECT_EQ(answer, "a b c\n");
  std::string more(1, '\0');
  EXPECT_FALSE(process.receive(more, Seconds(20)));  // it has ended
}

TEST(HelperProcess, PassesGoFirstUnlessItIsSaidOtherwise) {
  const HelperProcess polite("/bin/cat"), urgent("/bin/cat", {.niceness = 0});
  const auto niceness = [](const HelperProcess& of) {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(of.pid()));
  };
  const int own = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(niceness(polite), 10);
  EXPECT_EQ(niceness(urgent), own);
}

TEST(HelperProcess, WhatIsNoProgramIsTheUsersError) {
  EXPECT_THROW(HelperProcess("/no/helper"), UserError);
}

}  // namespace
}  // namespace predgen
