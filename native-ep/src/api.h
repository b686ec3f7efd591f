// The part of the ONNX Runtime C API this addon calls, as slot numbers of the function table.
// The table is append-only since 1.0, so a slot never changes its meaning; slots were read from
// onnxruntime_c_api.h of 1.30 (ORT_API_VERSION 30).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace laya {

using Status = void*;
constexpr uint32_t kApiVersion = 30;

enum Slot : size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetSessionLogSeverityLevel = 22,
  kSetSessionGraphOptimizationLevel = 23,
  kSetIntraOpNumThreads = 24,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateTensorWithDataAsOrtValue = 49,
  kGetTensorMutableData = 51,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetAllocatorWithDefaultOptions = 78,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTensorTypeAndShapeInfo = 99,
  kReleaseSessionOptions = 100,
  kAddSessionConfigEntry = 130,
  kSessionOptionsAppendExecutionProvider = 216,
  kSessionGetEpGraphAssignmentInfo = 407,
  kEpAssignedSubgraphGetEpName = 408,
  kEpAssignedSubgraphGetNodes = 409,
  kEpAssignedNodeGetName = 410,
  kEpAssignedNodeGetOperatorType = 412,
};

// ONNXTensorElementDataType
enum ElementType : int { kFloat = 1, kInt32 = 6, kInt64 = 7, kFloat16 = 10 };

// One loaded onnxruntime library. Never unloaded: its worker threads outlive any session.
class Api {
 public:
  // Throws std::runtime_error when the file is no onnxruntime of at least API version 30.
  static const Api& Load(const std::string& library);

  template <typename... Args>
  void Call(Slot slot, Args... args) const {
    Check(reinterpret_cast<Status (*)(Args...)>(const_cast<void*>(table_[slot]))(args...));
  }
  void Release(Slot slot, void* object) const {
    if (object) reinterpret_cast<void (*)(void*)>(const_cast<void*>(table_[slot]))(object);
  }
  void* env() const { return env_; }

 private:
  explicit Api(const std::string& library);
  void Check(Status status) const;

  const void* const* table_ = nullptr;
  void* env_ = nullptr;
};

}  // namespace laya
