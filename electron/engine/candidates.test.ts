import { describe, expect, it } from 'vitest'
import { type CandidateChoice, COREML_FLAGS, candidateName, listCandidates } from './candidates.ts'
import type { Machine } from './machine.ts'

const mac: Machine = {
  platform: 'darwin',
  arch: 'arm64',
  chip: 'Apple M3',
  cores: { performance: 4, efficiency: 4 },
  memoryBytes: 16 * 2 ** 30,
  os: 'macOS 15.2',
  osBuild: '24C101',
  virtual: false,
  translated: false,
  vulkanDriver: false,
}
const linux: Machine = { ...mac, platform: 'linux', arch: 'x64', chip: 'AMD EPYC', os: 'Debian' }
const all: CandidateChoice = {
  native: true,
  neuralEngine: false,
  requested: 'auto',
  profiles: ['cpu-fp32', 'cpu-w8', 'cpu-int8', 'gpu', 'gpu-fp32', 'ane'],
}
const names = (machine: Machine, choice: Partial<CandidateChoice> = {}) =>
  listCandidates(machine, { ...all, ...choice }).candidates.map(candidateName)

const CPU = ['cpu/cpu-int8', 'cpu/cpu-w8', 'cpu/cpu-fp32']

describe('candidates', () => {
  it('come in the order of trial on a Mac', () => {
    expect(names(mac)).toEqual(['coreml-native/gpu', 'coreml/gpu', 'webgpu/gpu', ...CPU])
  })
  it('leave the native engine out where its module is absent, and say so', () => {
    const { candidates, unavailable } = listCandidates(mac, { ...all, native: false })
    expect(candidates.map(candidateName)).toEqual(['coreml/gpu', 'webgpu/gpu', ...CPU])
    expect(unavailable).toEqual([
      {
        engine: 'coreml-native',
        precision: 'float16',
        state: 'unavailable',
        reason: 'The native Core ML module is not installed.',
      },
    ])
  })
  it('try the Neural Engine on request only, and never in a virtual machine', () => {
    expect(names(mac, { neuralEngine: true })).toEqual([
      'coreml-native/gpu',
      'coreml/gpu',
      'coreml-native/ane',
      'coreml/ane',
      'webgpu/gpu',
      ...CPU,
    ])
    expect(names({ ...mac, virtual: true }, { neuralEngine: true })).not.toContain('coreml/ane')
  })
  it('are the CPU alone where nothing else can run', () => {
    expect(names(linux)).toEqual(CPU)
    expect(names({ ...mac, arch: 'x64' })).toEqual(CPU)
    expect(names({ ...mac, translated: true })).toEqual(CPU)
    expect(names({ ...linux, platform: 'win32' })).toEqual(CPU)
  })
  it('take WebGPU in float32 where Linux has a driver', () => {
    expect(names({ ...linux, vulkanDriver: true })).toEqual(['webgpu/gpu-fp32', ...CPU])
  })
  it('keep to a pinned engine and give the reason when it cannot run', () => {
    expect(names(mac, { requested: 'webgpu' })).toEqual(['webgpu/gpu'])
    expect(names(mac, { requested: 'cpu' })).toEqual(CPU)
    const pinned = listCandidates(linux, { ...all, requested: 'coreml' })
    expect(pinned.candidates).toEqual([])
    expect(pinned.unavailable.map(({ reason }) => reason)).toEqual(['Core ML exists on macOS only.'])
  })
  it('offer no profile that no graph exists for', () => {
    expect(names(mac, { profiles: ['cpu-fp32', 'gpu'] })).toEqual([
      'coreml-native/gpu',
      'coreml/gpu',
      'webgpu/gpu',
      'cpu/cpu-fp32',
    ])
  })
  it('use flags that allow one unit beside the CPU', () => {
    for (const flags of Object.values(COREML_FLAGS)) {
      expect([0x01, 0x04, 0x20].filter((bit) => (flags & bit) !== 0)).toHaveLength(1)
      expect(flags & 0x18).toBe(0x18)
    }
  })
})
