#include "hear/onnx/onnx_runtime.h"

#include <dlfcn.h>

#include "core/text.h"

// PREDGEN_ONNXRUNTIME: where the build found the library; empty: it was built without.

namespace predgen {
namespace {

/// Null if it cannot be opened; dlerror() says why. It stays loaded: threads that used it keep its
/// thread-local data.
void* open_library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

/// Where the build found it or, for an installed program, in a folder of the program's library
/// search path.
void* find_library() {
  constexpr const char* kBuilt = PREDGEN_ONNXRUNTIME;
  if (*kBuilt == '\0') return nullptr;
  void* const library = open_library(kBuilt);
  return library != nullptr ? library : open_library("libonnxruntime.so");
}

constexpr const char* kUsers = "recognisers and the voices hibari and piper";
constexpr const char* kAdvice = "run scripts/setup.sh and build again, or use --tts espeak";

[[noreturn]] void fail_missing() {
  if (*PREDGEN_ONNXRUNTIME == '\0') {
    throw UserError("this predgen was built without ONNX Runtime, which {} need: {}", kUsers,
                    kAdvice);
  }
  const char* const why = dlerror();
  throw UserError("ONNX Runtime, which {} need, cannot be opened ({}): {}", kUsers,
                  shortened(why == nullptr ? "" : why, 200), kAdvice);
}

}  // namespace

std::shared_ptr<const OnnxRuntime> OnnxRuntime::open(const std::filesystem::path& library) {
  void* const opened = library.empty() ? find_library() : open_library(library.c_str());
  if (opened == nullptr) fail_missing();
  const auto get_base = reinterpret_cast<onnx::GetApiBase>(dlsym(opened, "OrtGetApiBase"));
  if (get_base == nullptr) throw UserError("{}: is no ONNX Runtime: {}", library.string(), kAdvice);
  const onnx::ApiBase* const base = get_base();
  const void* const* const table = base->get_api(onnx::kAskedVersion);
  if (table == nullptr) {
    throw UserError("ONNX Runtime {} is too old for {}, which need 1.{}: {}", base->get_version(),
                    kUsers, onnx::kAskedVersion, kAdvice);
  }
  return std::shared_ptr<const OnnxRuntime>(new OnnxRuntime(table));
}

bool OnnxRuntime::is_there() noexcept {
  try {
    return find_library() != nullptr;
  } catch (...) {
    return false;
  }
}

OnnxRuntime::OnnxRuntime(const void* const* table) : table_(table) {
  call(onnx::kCreateEnv, onnx::kFatalOnly, "predgen", &env_);
}

OnnxRuntime::~OnnxRuntime() { release(onnx::kReleaseEnv, env_); }

void OnnxRuntime::fail(onnx::Status* status) const {
  const std::string message = function(onnx::kGetErrorMessage)(status);
  release(onnx::kReleaseStatus, status);
  throw Error("ONNX Runtime: {}", first_line(message));
}

}  // namespace predgen
