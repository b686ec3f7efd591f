import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import os from 'node:os'

/** The computer as far as it decides which engine may run, and what a stamp of the parity gate is worth. */
export interface Machine {
  platform: NodeJS.Platform
  arch: string
  /** "Apple M3 Max", "AMD EPYC". */
  chip: string
  cores: { performance: number; efficiency: number }
  memoryBytes: number
  /** "macOS 15.2", "Debian GNU/Linux 12 (bookworm)". */
  os: string
  /** macOS build or kernel release: an update of it makes every parity stamp void. */
  osBuild: string
  /** In a virtual machine the Neural Engine is never tried: its compiler has hung for minutes. */
  virtual: boolean
  /** An x64 Node on Apple silicon: the package has no Core ML for it. */
  translated: boolean
  /** Linux: a driver manifest exists, so that WebGPU has something to start on. */
  vulkanDriver: boolean
}

/** What is asked of the system; tests hand in texts. */
export interface MachineSources {
  platform: NodeJS.Platform
  arch: string
  run(command: string, args: string[]): Promise<string>
  /** Text of a file, or names of a folder joined by newlines; "" when absent. */
  read(path: string): string
  env: NodeJS.ProcessEnv
}

const SYSCTL_KEYS = [
  'machdep.cpu.brand_string',
  'hw.model',
  'hw.memsize',
  'hw.physicalcpu',
  'hw.perflevel0.physicalcpu',
  'hw.perflevel1.physicalcpu',
  'kern.osproductversion',
  'kern.osversion',
  'kern.hv_vmm_present',
  'sysctl.proc_translated',
]

/** Reads the machine; a value the system does not give becomes "unknown" or the plain count of cores. */
export async function readMachine(sources: MachineSources = systemSources): Promise<Machine> {
  return sources.platform === 'darwin' ? readMac(sources) : readOther(sources)
}

async function readMac({ platform, arch, run }: MachineSources): Promise<Machine> {
  const values = parseSysctl(await run('/usr/sbin/sysctl', SYSCTL_KEYS))
  const count = (key: string): number | undefined => {
    const value = Number(values.get(key))
    return Number.isInteger(value) && value >= 0 ? value : undefined
  }
  const performance = count('hw.perflevel0.physicalcpu') ?? count('hw.physicalcpu') ?? os.cpus().length
  return {
    platform,
    arch,
    chip: values.get('machdep.cpu.brand_string') ?? 'unknown',
    cores: { performance, efficiency: count('hw.perflevel1.physicalcpu') ?? 0 },
    memoryBytes: count('hw.memsize') ?? os.totalmem(),
    os: `macOS ${values.get('kern.osproductversion') ?? 'unknown'}`,
    osBuild: values.get('kern.osversion') ?? os.release(),
    virtual: values.get('kern.hv_vmm_present') === '1' || /^VirtualMac/.test(values.get('hw.model') ?? ''),
    translated: values.get('sysctl.proc_translated') === '1',
    vulkanDriver: false,
  }
}

async function readOther({ platform, arch, read, env }: MachineSources): Promise<Machine> {
  const cpuinfo = read('/proc/cpuinfo')
  const field = (name: string) => new RegExp(`^${name}\\s*:\\s*(.+)$`, 'm').exec(cpuinfo)?.[1]?.trim()
  const memory = /^MemTotal:\s*(\d+) kB/m.exec(read('/proc/meminfo'))?.[1]
  const name = /^PRETTY_NAME="?([^"\n]+)"?/m.exec(read('/etc/os-release'))?.[1]
  const manifests = [
    env.VK_ICD_FILENAMES,
    env.VK_DRIVER_FILES,
    read('/usr/share/vulkan/icd.d'),
    read('/etc/vulkan/icd.d'),
  ]
  return {
    platform,
    arch,
    chip: field('model name') ?? os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: { performance: os.availableParallelism(), efficiency: 0 },
    memoryBytes: memory === undefined ? os.totalmem() : Number(memory) * 1024,
    os: name ?? `${os.type()} ${os.release()}`,
    osBuild: os.release(),
    virtual: /\bhypervisor\b/.test(field('flags') ?? ''),
    translated: false,
    vulkanDriver: manifests.some((text) => text !== undefined && text !== ''),
  }
}

/** `key: value` lines. Keys a system does not know are reported on stderr and simply missing here. */
export function parseSysctl(text: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ')
    if (colon > 0) values.set(line.slice(0, colon), line.slice(colon + 2).trim())
  }
  return values
}

const systemSources: MachineSources = {
  platform: process.platform,
  arch: process.arch,
  // sysctl exits with 1 when one key is unknown and still prints the others.
  run: (command, args) =>
    new Promise((resolve) => {
      execFile(command, args, { timeout: 5000 }, (_error, stdout) => resolve(stdout))
    }),
  read: (path) => {
    try {
      return path.endsWith('.d') ? readdirSync(path).join('\n') : readFileSync(path, 'utf8')
    } catch {
      return '' // Absent on this system: every caller has its own default.
    }
  },
  env: process.env,
}
