#include "helpers/ears/onnx_model.h"

#include <cstddef>

#include "core/error.h"
#include "core/text.h"

namespace predgen::ears {
namespace {

// The wheel has the library and no header of it. Its functions are in a table in which later
// versions only append (https://onnxruntime.ai/docs/api/c/struct_ort_api.html), so these are what
// version 1 of the table has at these places.
using Status = void*;  // null: it went well
struct OrtFunctions {
  void* unused_0[2];
  const char* (*message_of)(const void* status);
  Status (*create_environment)(int least_severity, const char* name, void** environment);
  void* unused_4[3];
  Status (*create_session)(const void* environment, const char* file, const void* options,
                           void** session);
  void* unused_8;
  Status (*run)(void* session, const void* options, const char* const* input_names,
                const void* const* inputs, size_t num_inputs, const char* const* output_names,
                size_t num_outputs, void** outputs);
  Status (*create_options)(void** options);
  void* unused_11[13];
  Status (*set_threads_in_operators)(void* options, int count);
  Status (*set_threads_between_operators)(void* options, int count);
  void* unused_26[23];
  Status (*create_tensor)(const void* memory, void* data, size_t bytes, const int64_t* shape,
                          size_t num_dimensions, int type, void** tensor);
  void* unused_50;
  Status (*data_of)(void* tensor, void** data);
  void* unused_52[12];
  Status (*count_of)(const void* shape, size_t* count);
  Status (*shape_of)(const void* tensor, void** shape);
  void* unused_66[3];
  Status (*create_memory)(int allocator, int kind, void** memory);
  void* unused_70[22];
  void (*release_environment)(void* environment);
  void (*release_status)(void* status);
  void (*release_memory)(void* memory);
  void (*release_session)(void* session);
  void (*release_value)(void* tensor);
  void* unused_97[2];
  void (*release_shape)(void* shape);
  void (*release_options)(void* options);
};
static_assert(offsetof(OrtFunctions, run) == 9 * sizeof(void*));
static_assert(offsetof(OrtFunctions, create_tensor) == 49 * sizeof(void*));
static_assert(offsetof(OrtFunctions, shape_of) == 65 * sizeof(void*));
static_assert(offsetof(OrtFunctions, release_options) == 100 * sizeof(void*));

constexpr uint32_t kTableVersion = 1;
constexpr int kErrorsOnly = 3, kArena = 1, kDefaultMemory = 0, kFloat = 1, kInteger64 = 7;

struct OrtBase {
  const OrtFunctions* (*functions)(uint32_t version);
  const char* (*version)();
};
extern "C" const OrtBase* OrtGetApiBase();

const OrtFunctions& ort() { return *OrtGetApiBase()->functions(kTableVersion); }

std::string take_message(Status status) {
  std::string message = first_line(ort().message_of(status));
  ort().release_status(status);
  return message;
}

/// What the library gives us to release.
struct Held {
  explicit Held(void (*release_with)(void*)) : release(release_with) {}
  Held(Held&& other) noexcept : release(other.release), pointer(other.pointer) {
    other.pointer = nullptr;
  }
  ~Held() {
    if (pointer != nullptr) release(pointer);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void (*release)(void*);
  void* pointer = nullptr;
};

}  // namespace

OnnxModel::OnnxModel(const std::filesystem::path& file) : file_(file.string()) {
  Held options(ort().release_options);
  Status status = ort().create_environment(kErrorsOnly, "predgen", &environment_);
  if (status == nullptr) status = ort().create_options(&options.pointer);
  if (status == nullptr) status = ort().set_threads_in_operators(options.pointer, 1);
  if (status == nullptr) status = ort().set_threads_between_operators(options.pointer, 1);
  if (status == nullptr) {
    status = ort().create_session(environment_, file_.c_str(), options.pointer, &session_);
  }
  if (status != nullptr) throw UserError("{} cannot be loaded: {}", file_, take_message(status));
}

OnnxModel::~OnnxModel() {
  ort().release_session(session_);
  ort().release_environment(environment_);
}

std::vector<std::vector<float>> OnnxModel::run(const std::vector<OnnxInput>& inputs,
                                               const std::vector<const char*>& outputs) {
  const auto check = [&](Status status) {
    if (status != nullptr) throw Error("{} does not run: {}", file_, take_message(status));
  };
  Held memory(ort().release_memory);
  check(ort().create_memory(kArena, kDefaultMemory, &memory.pointer));
  std::vector<Held> held;
  std::vector<const char*> names;
  std::vector<const void*> tensors;
  for (const OnnxInput& input : inputs) {
    const bool is_integer = !input.integers.empty();
    const void* data = is_integer ? static_cast<const void*>(input.integers.data())
                                  : static_cast<const void*>(input.floats.data());
    const size_t bytes = is_integer ? input.integers.size_bytes() : input.floats.size_bytes();
    Held& tensor = held.emplace_back(ort().release_value);
    check(ort().create_tensor(memory.pointer, const_cast<void*>(data), bytes, input.shape.data(),
                              input.shape.size(), is_integer ? kInteger64 : kFloat,
                              &tensor.pointer));
    names.push_back(input.name);
    tensors.push_back(tensor.pointer);
  }
  std::vector<void*> results(outputs.size(), nullptr);
  check(ort().run(session_, nullptr, names.data(), tensors.data(), tensors.size(), outputs.data(),
                  outputs.size(), results.data()));
  std::vector<std::vector<float>> values;
  for (void* const result : results) {
    Held tensor(ort().release_value), shape(ort().release_shape);
    tensor.pointer = result;
    check(ort().shape_of(result, &shape.pointer));
    size_t count = 0;
    check(ort().count_of(shape.pointer, &count));
    void* data = nullptr;
    check(ort().data_of(result, &data));
    const auto* const floats = static_cast<const float*>(data);
    values.emplace_back(floats, floats + count);
  }
  return values;
}

}  // namespace predgen::ears
