import { describe, expect, it } from 'vitest'
import { type MachineSources, parseSysctl, readMachine } from './machine.ts'

function mac(text: string): MachineSources {
  return { platform: 'darwin', arch: 'arm64', run: async () => text, read: () => '', env: {} }
}
function linux(files: Record<string, string>, env = {}): MachineSources {
  return { platform: 'linux', arch: 'x64', run: async () => '', read: (path) => files[path] ?? '', env }
}

describe('machine', () => {
  it('reads a Mac from sysctl', async () => {
    const machine = await readMachine(
      mac(
        [
          'machdep.cpu.brand_string: Apple M3 Max',
          'hw.model: Mac15,9',
          'hw.memsize: 68719476736',
          'hw.physicalcpu: 16',
          'hw.perflevel0.physicalcpu: 12',
          'hw.perflevel1.physicalcpu: 4',
          'kern.osproductversion: 15.2',
          'kern.osversion: 24C101',
          'kern.hv_vmm_present: 0',
          'sysctl.proc_translated: 0',
        ].join('\n'),
      ),
    )
    expect(machine).toEqual({
      platform: 'darwin',
      arch: 'arm64',
      chip: 'Apple M3 Max',
      cores: { performance: 12, efficiency: 4 },
      memoryBytes: 64 * 2 ** 30,
      os: 'macOS 15.2',
      osBuild: '24C101',
      virtual: false,
      translated: false,
      vulkanDriver: false,
    })
  })

  it('knows a virtual Mac by its flag and by its model', async () => {
    expect((await readMachine(mac('kern.hv_vmm_present: 1'))).virtual).toBe(true)
    expect((await readMachine(mac('hw.model: VirtualMac2,1'))).virtual).toBe(true)
  })

  it('knows a translated process', async () => {
    expect((await readMachine(mac('sysctl.proc_translated: 1'))).translated).toBe(true)
  })

  it('says unknown instead of inventing values', async () => {
    const machine = await readMachine(mac(''))
    expect(machine).toMatchObject({ chip: 'unknown', os: 'macOS unknown', cores: { efficiency: 0 } })
    expect(machine.memoryBytes).toBeGreaterThan(0)
  })

  it('reads Linux from /proc and finds a Vulkan driver', async () => {
    const files = {
      '/proc/cpuinfo': 'processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 hypervisor lahf_lm\n',
      '/proc/meminfo': 'MemTotal:       24576 kB\nMemFree: 1 kB\n',
      '/etc/os-release': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    }
    const machine = await readMachine(linux(files))
    expect(machine).toMatchObject({
      chip: 'AMD EPYC',
      memoryBytes: 24576 * 1024,
      os: 'Debian GNU/Linux 12 (bookworm)',
      virtual: true,
      vulkanDriver: false,
    })
    expect((await readMachine(linux(files, { VK_ICD_FILENAMES: '/x.json' }))).vulkanDriver).toBe(true)
    const manifest = { ...files, '/usr/share/vulkan/icd.d': 'radeon_icd.json' }
    expect((await readMachine(linux(manifest))).vulkanDriver).toBe(true)
  })

  it('reads this machine', async () => {
    const machine = await readMachine()
    expect(machine.platform).toBe(process.platform)
    expect(machine.memoryBytes).toBeGreaterThan(2 ** 28)
    expect(machine.osBuild).not.toBe('')
  })

  it('keeps colons inside values and skips lines without one', () => {
    expect(parseSysctl('a: b: c\nnothing\nunknown oid')).toEqual(new Map([['a', 'b: c']]))
  })
})
