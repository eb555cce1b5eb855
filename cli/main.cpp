#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "core/version.h"
#include "model/configure_math.h"

namespace predgen::cli {
namespace {

const std::vector<AddCommand> kCommands{add_bench,    add_chat,   add_data,     add_doctor,
                                        add_eval,     add_export, add_generate, add_models,
                                        add_plan,     add_report, add_score,    add_serve,
                                        add_settings, add_talk,   add_tokenize, add_train};

/// Whether the cause is a path given by the user, and not the disk or this program.
bool is_of_path(const std::error_code& code) {
  for (const int number : {ENOENT, EACCES, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, EROFS, EEXIST}) {
    if (code == std::error_code(number, std::generic_category())) return true;
  }
  return false;
}

int run(int argc, char** argv) {
  if (argc == 1) {
    print_welcome();
    return 2;
  }
  CLI::App app{"predgen: voice assistants that answer the moment you stop speaking", "predgen"};
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormat>());
  app.set_version_flag("--version", program_version());
  std::string log_level = "info";
  app.add_option("--log-level", log_level, "debug, info, warn, error or off")
      ->capture_default_str();
  app.parse_complete_callback([&] { configure_log(log_level); });
  try {
    const std::stop_token stop = install_interrupt_handler();
    for (const AddCommand add : kCommands) add(app, stop);
    configure_log("info");
    configure_math();
    std::vector<std::string> words(std::make_reverse_iterator(argv + argc),
                                   std::make_reverse_iterator(argv + 1));  // as parse() wants them
    if (words.back() == "help") {
      words.pop_back();
      words.insert(words.begin(), "--help");
    }
    app.parse(std::move(words));
    return 0;
  } catch (const CLI::RuntimeError& error) {  // of a command whose ranks have reported why
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "predgen: %s\n", describe_parse_error(app, error).c_str());
    return 2;
  } catch (const UserError& error) {
    std::fprintf(stderr, "predgen: %s\n", error.what());
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    const bool is_users = !error.path1().empty() && is_of_path(error.code());
    std::fprintf(stderr, "predgen: %s%s%s%s\n", is_users ? "" : "failed: ", error.path1().c_str(),
                 error.path1().empty() ? "" : ": ", error.code().message().c_str());
    return is_users ? 2 : 1;
  } catch (const Interrupted&) {
    std::fprintf(stderr, "predgen: interrupted\n");
    return 130;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "predgen: failed: %s\n", first_line(error.what()).c_str());
    return 1;
  }
}

/// Ends the program without destructors of static objects. Those of LibTorch take 0.1 s, a third of
/// a short command. Sanitizers look for leaks behind them.
[[noreturn]] void leave(int status) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::exit(status);
#else
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(status);
#endif
}

}  // namespace
}  // namespace predgen::cli

int main(int argc, char** argv) { predgen::cli::leave(predgen::cli::run(argc, argv)); }
