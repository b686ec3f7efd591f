// Core ML's compute plan and the Metal device. Compiled on macOS only; not yet verified on a Mac.
// The plan reader can crash on some bundles, so callers run it in a throw-away process.
#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <map>
#include <set>
#include <stdexcept>

#include "coreml.h"

namespace laya {
namespace {

MLComputeUnits UnitsNamed(const std::string& name) {
  if (name == "CPUOnly") return MLComputeUnitsCPUOnly;
  if (name == "CPUAndGPU") return MLComputeUnitsCPUAndGPU;
  if (name == "CPUAndNeuralEngine") return MLComputeUnitsCPUAndNeuralEngine;
  if (name == "ALL") return MLComputeUnitsAll;
  throw std::runtime_error("units must be CPUOnly, CPUAndGPU, CPUAndNeuralEngine or ALL");
}

struct Tally {
  std::map<std::string, PlannedDevice> devices;
  std::set<std::string> cpu_operators;
};

API_AVAILABLE(macos(14.4))
std::string DeviceOf(id<MLComputeDeviceProtocol> device) {
  if ([(NSObject*)device isKindOfClass:[MLGPUComputeDevice class]]) return "gpu";
  if ([(NSObject*)device isKindOfClass:[MLNeuralEngineComputeDevice class]]) return "ane";
  if ([(NSObject*)device isKindOfClass:[MLCPUComputeDevice class]]) return "cpu";
  return "none";
}

API_AVAILABLE(macos(14.4))
void Walk(MLComputePlan* plan, MLModelStructureProgramBlock* block, Tally* tally) {
  for (MLModelStructureProgramOperation* operation in block.operations) {
    for (MLModelStructureProgramBlock* inner in operation.blocks) Walk(plan, inner, tally);
    if ([operation.operatorName isEqualToString:@"const"]) continue;
    MLComputePlanDeviceUsage* usage = [plan computeDeviceUsageForMLProgramOperation:operation];
    MLComputePlanCost* cost = [plan estimatedCostOfMLProgramOperation:operation];
    std::string name = usage ? DeviceOf(usage.preferredComputeDevice) : "none";
    PlannedDevice& device = tally->devices.try_emplace(name, PlannedDevice{name, 0, 0}).first->second;
    device.operations += 1;
    device.cost += cost ? cost.weight : 0;
    if (name == "cpu") tally->cpu_operators.insert(operation.operatorName.UTF8String);
  }
}

}  // namespace

ComputePlan ReadComputePlan(const std::string& bundle, const std::string& units) {
  MLComputeUnits wanted = UnitsNamed(units);
  if (@available(macOS 14.4, *)) {
    @autoreleasepool {
      MLModelConfiguration* configuration = [[MLModelConfiguration alloc] init];
      configuration.computeUnits = wanted;
      __block MLComputePlan* plan = nil;
      __block NSError* failure = nil;
      dispatch_semaphore_t done = dispatch_semaphore_create(0);
      [MLComputePlan loadContentsOfURL:[NSURL fileURLWithPath:@(bundle.c_str())]
                         configuration:configuration
                     completionHandler:^(MLComputePlan* loaded, NSError* error) {
                       plan = loaded;
                       failure = error;
                       dispatch_semaphore_signal(done);
                     }];
      dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
      if (!plan) {
        NSString* reason = failure.localizedDescription ?: @"unknown reason";
        throw std::runtime_error(std::string("Core ML gave no compute plan: ") + reason.UTF8String);
      }
      MLModelStructureProgram* program = plan.modelStructure.program;
      if (!program) throw std::runtime_error("the compiled bundle is not an ML Program");
      Tally tally;
      for (NSString* name in program.functions) Walk(plan, program.functions[name].block, &tally);
      ComputePlan result;
      for (auto& [name, device] : tally.devices) result.devices.push_back(device);
      result.cpu_operators.assign(tally.cpu_operators.begin(), tally.cpu_operators.end());
      return result;
    }
  }
  throw std::runtime_error("compute plans exist on macOS 14.4 and later only");
}

MetalDevice ReadMetalDevice() {
  @autoreleasepool {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    MetalDevice result;
    if (!device) return result;
    result.present = true;
    result.name = device.name.UTF8String;
    result.recommended_bytes = device.recommendedMaxWorkingSetSize;
    result.allocated_bytes = device.currentAllocatedSize;
    return result;
  }
}

}  // namespace laya
