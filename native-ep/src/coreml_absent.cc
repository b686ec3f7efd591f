#include <stdexcept>

#include "coreml.h"

namespace laya {

ComputePlan ReadComputePlan(const std::string&, const std::string&) {
  throw std::runtime_error("compute plans exist on macOS 14.4 and later only");
}

MetalDevice ReadMetalDevice() { return {}; }

}  // namespace laya
