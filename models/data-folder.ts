import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the app keeps everything it writes. `LAYA_BAR_HOME` overrides the place of the platform. */
export function findDataFolder(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  if (env.LAYA_BAR_HOME) return env.LAYA_BAR_HOME
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'Laya Bar')
  return join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'laya-bar')
}

/** The places inside the data folder. */
export interface DataFolders {
  /** `<name>/`: one installed checkpoint with its manifest. */
  checkpoints: string
  /** `<name>/`: what is not whole yet. */
  staging: string
  /** `<first 16 hex digits of the weights' SHA-256>/`: graphs, side files, compile caches. */
  graphs: string
  locks: string
}

export function listDataFolders(dataFolder: string): DataFolders {
  return {
    checkpoints: join(dataFolder, 'checkpoints'),
    staging: join(dataFolder, 'staging'),
    graphs: join(dataFolder, 'graphs'),
    locks: join(dataFolder, 'locks'),
  }
}

/**
 * The folder of the embedded demo checkpoint, beside the program: `models/demo` in the sources and in the bundle.
 * Inside a packed app the engine needs real files, so the unpacked copy is meant.
 *
 * @throws Error when the program was put together without it.
 */
export function findDemoFolder(from: string = import.meta.url): string {
  let folder = dirname(fileURLToPath(from)).replace(/app\.asar(?=$|[\\/])/, 'app.asar.unpacked')
  for (let height = 0; height < 5; height++, folder = dirname(folder)) {
    for (const place of [join(folder, 'demo'), join(folder, 'models', 'demo')])
      if (existsSync(join(place, 'model.safetensors'))) return place
  }
  throw new Error('models/demo is missing beside the program; build the bundles again')
}
