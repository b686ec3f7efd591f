#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace laya {

struct PlannedDevice {
  std::string device;  // "cpu", "gpu", "ane" or "none"
  double cost;         // share of the estimated cost, 0..1
  uint32_t operations;
};
struct ComputePlan {
  std::vector<PlannedDevice> devices;
  std::vector<std::string> cpu_operators;
};
struct MetalDevice {
  bool present = false;
  std::string name;
  uint64_t recommended_bytes = 0, allocated_bytes = 0;
};

// Reads Core ML's plan for a compiled bundle (.mlmodelc). Blocks. Throws std::runtime_error when the system cannot
// tell (before macOS 14.4, not a Mac, unreadable bundle). `units`: CPUOnly, CPUAndGPU, CPUAndNeuralEngine or ALL.
ComputePlan ReadComputePlan(const std::string& bundle, const std::string& units);
MetalDevice ReadMetalDevice();

}  // namespace laya
