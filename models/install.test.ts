import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHubDouble, type HubDouble, type HubDoubleOptions, readRepository } from '../e2e/hub.ts'
import { CHECKPOINT_FILES, WEIGHTS_FILE } from './catalog.ts'
import { createHub, type Hub } from './hub.ts'
import { findCopies } from './hub-cache.ts'
import { type InstallOptions, installFromFolder, installFromHub } from './install.ts'
import { listJobs } from './staging.ts'
import { createStore, type Store } from './store.ts'

const fixture = fileURLToPath(new URL('../e2e/data/checkpoints/fixture-multilingual', import.meta.url))
const COMMIT = '1c5edc17a7acd8701df6fc341c0d179f1c62c982'
const weightsSha256 = createHash('sha256')
  .update(readFileSync(join(fixture, WEIGHTS_FILE)))
  .digest('hex')

let root: string
let store: Store
let double: HubDouble | undefined
let hub: Hub

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'laya-install-'))
  store = createStore({ dataFolder: join(root, 'data') })
})
afterEach(async () => {
  await hub?.close()
  await double?.close()
  rmSync(root, { recursive: true, force: true })
})

async function startHub(options: Partial<HubDoubleOptions> = {}): Promise<void> {
  const repos = { 'owner/model': { ...readRepository(fixture), ...readRepository(fixture, 'sub/') } }
  double = await createHubDouble({ repos, ...options })
  hub = createHub({ env: {}, home: root, endpoint: double.url })
}

const source = { repo: 'owner/model', revision: 'main', folder: '' }
const wait = async () => {}
const install = (options: InstallOptions = {}, name = 'mine') =>
  installFromHub(store, hub, name, source, { wait, ...options })
const importFolder = (folder: string, name = 'mine', options: InstallOptions = {}) =>
  installFromFolder(store, name, { folder, origin: 'folder', repo: null, revision: null }, options)
const names = () => store.list().map(({ name }) => name)
const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])

/** A copy of the fixture that may be damaged. */
function copyFixture(name = 'copy'): string {
  const folder = join(root, name)
  cpSync(fixture, folder, { recursive: true })
  return folder
}

describe('installing from the Hub', () => {
  it('leaves exactly the checkpoint, with every digest and the commit recorded', async () => {
    await startHub()
    const stages: string[] = []
    const { installed, weights } = await install({
      onProgress: (stage, { done, total }) => {
        stages.push(stage)
        expect(done).toBeLessThanOrEqual(total)
      },
    })
    expect(weights).toBe('fetched')
    expect(installed).toMatchObject({ name: 'mine', repo: 'owner/model', revision: COMMIT, fault: null })
    expect(installed.workFolder).toBe(join(root, 'data', 'graphs', weightsSha256.slice(0, 16)))
    expect(installed.manifest.files.map(({ path }) => path)).toEqual([...CHECKPOINT_FILES])
    for (const { path, sha256, assurance } of installed.manifest.files) {
      expect(
        createHash('sha256')
          .update(readFileSync(join(installed.folder, path)))
          .digest('hex'),
      ).toBe(sha256)
      expect(assurance).toBe('Hub digest')
    }
    expect(new Set(stages)).toEqual(new Set(['downloading', 'verifying']))
    expect(names()).toEqual(['laya-demo', 'mine'])
    expect(namesIn(store.folders.staging)).toEqual([])
    expect(namesIn(store.folders.locks)).toEqual([])
    await store.verify('mine')
  })

  it('reads from a folder inside the repository', async () => {
    await startHub()
    await installFromHub(store, hub, 'mine', { ...source, folder: 'sub' }, { wait })
    expect(double!.requests.every(({ path }) => path.includes('sub'))).toBe(true)
    expect(names()).toContain('mine')
  })

  it('does nothing when it is there', async () => {
    await startHub()
    await install()
    const before = double!.requests.length
    expect((await install()).weights).toBe('kept')
    expect(double!.requests.length).toBe(before)
  })

  it('goes on after a pause in another process, at the commit it began with', async () => {
    await startHub({ bytesPerSecond: 10_000_000 })
    const pause = new AbortController()
    double!.onSent((total) => total > 1_700_000 && pause.abort())
    await expect(install({ signal: pause.signal })).rejects.toThrow()
    expect(names()).toEqual(['laya-demo'])
    expect(listJobs(store)).toMatchObject([{ name: 'mine', hub: { revision: COMMIT } }])
    store = createStore({ dataFolder: join(root, 'data') })
    let first: number | undefined
    await install({ onProgress: (_, { done }) => (first ??= done) })
    expect(first).toBeGreaterThan(1_000_000)
    expect(names()).toContain('mine')
  })

  it('refuses the published name for other content before fetching it', async () => {
    await startHub({ repos: { 'convaiinnovations/laya': readRepository(fixture) } })
    const published = { repo: 'convaiinnovations/laya', revision: COMMIT, folder: '' }
    await expect(installFromHub(store, hub, 'english', published, { wait })).rejects.toMatchObject({
      code: 'digest_mismatch',
    })
    expect(double!.requests.every(({ method }) => method === 'HEAD')).toBe(true)
    expect(names()).toEqual(['laya-demo'])
  })

  it.each(['jev-1', 'laya', 'en', 'English', '../up', '', 'a/b'])('refuses the name %j', async (name) => {
    await startHub()
    await expect(install({}, name)).rejects.toMatchObject({ code: 'invalid_checkpoint_name' })
    expect(double!.requests).toEqual([])
  })

  it('says what is missing in a repository of another kind', async () => {
    await startHub({ repos: { 'owner/model': { 'model.safetensors': Buffer.alloc(10) } } })
    await expect(install()).rejects.toMatchObject({
      code: 'hub_not_found',
      message: expect.stringContaining("'rl_agent_config.json'"),
    })
  })

  it('never shows a checkpoint whose files are whole and whose content is not', async () => {
    const broken = copyFixture()
    writeFileSync(join(broken, 'encoder', 'config.json'), '{"model_type": "bert"}')
    await startHub({ repos: { 'owner/model': readRepository(broken) } })
    await expect(install()).rejects.toMatchObject({ code: 'checkpoint_unusable' })
    expect(names()).toEqual(['laya-demo'])
  })

  it('asks for the room first', async () => {
    await startHub()
    // A size that no disk has: the double only has to announce it.
    const huge = {
      ...hub,
      describe: async (...args: Parameters<Hub['describe']>) => ({
        ...(await hub.describe(...args)),
        bytes: 9e15,
      }),
    }
    const failure = installFromHub(store, huge, 'mine', source, { wait })
    await expect(failure).rejects.toMatchObject({
      code: 'disk_full',
      message: expect.stringMatching(/MB more/),
    })
    expect(double!.requests.every(({ method }) => method === 'HEAD')).toBe(true)
  })

  it('replaces a broken one', async () => {
    await startHub()
    const { installed } = await install()
    truncateSync(join(installed.folder, WEIGHTS_FILE), 1000)
    store.refresh()
    expect(store.find('mine')!.fault?.sentence).toBe('model.safetensors: 1000 bytes instead of 3067658.')
    expect(() => store.open('mine')).toThrow('1000 bytes instead of')
    expect((await install()).installed.fault).toBeNull()
  })

  it('leaves files of the user alone and says where they are', async () => {
    await startHub()
    const { installed } = await install()
    writeFileSync(join(installed.folder, 'notes.txt'), 'mine')
    rmSync(join(installed.folder, WEIGHTS_FILE))
    store.refresh()
    await expect(install()).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('notes.txt'),
    })
    const sent = double!.sent()
    rmSync(join(installed.folder, 'notes.txt'))
    await install()
    expect(double!.sent()).toBe(sent)
  })

  it('two at once: one installs, the other says who does', async () => {
    await startHub({ bytesPerSecond: 10_000_000 })
    const outcomes = await Promise.allSettled([install(), install()])
    const failed = outcomes.filter(({ status }) => status === 'rejected')
    expect(failed).toMatchObject([{ reason: { code: 'checkpoint_locked' } }])
    await store.verify('mine')
  })
})

describe('a Hugging Face cache', () => {
  /** The layout of the Hub's libraries: blobs by digest, snapshots of symbolic links. */
  function plantCache(hubFolder: string, repo = 'owner/model'): string {
    const repository = join(hubFolder, `models--${repo.replace('/', '--')}`)
    const snapshot = join(repository, 'snapshots', COMMIT)
    for (const path of CHECKPOINT_FILES) {
      const content = readFileSync(join(fixture, path))
      const git = createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
      const blob = join(repository, 'blobs', path === WEIGHTS_FILE ? weightsSha256 : git)
      mkdirSync(dirname(blob), { recursive: true })
      writeFileSync(blob, content)
      mkdirSync(dirname(join(snapshot, path)), { recursive: true })
      symlinkSync(blob, join(snapshot, path))
    }
    return repository
  }

  it.each([
    ['HF_HUB_CACHE', (at: string) => ({ HF_HUB_CACHE: at })],
    ['HF_HOME', (at: string) => ({ HF_HOME: dirname(at) })],
    ['XDG_CACHE_HOME', (at: string) => ({ XDG_CACHE_HOME: dirname(dirname(at)) })],
    ['the home folder', () => ({})],
  ])('is found through %s and used without a second copy', async (_, environment) => {
    const at = join(root, '.cache', 'huggingface', 'hub')
    const env = environment(at)
    const repository = plantCache(at)
    const search = { env, home: root }
    const [found] = await findCopies(search)
    expect(found).toMatchObject({
      name: 'model',
      where: 'Hugging Face cache',
      repo: 'owner/model',
      revision: COMMIT,
      entry: null,
    })
    const { installed, weights } = await installFromFolder(store, 'mine', {
      folder: found!.folder,
      origin: 'cache',
      repo: found!.repo,
      revision: found!.revision,
    })
    expect(weights).toBe('linked')
    const own = lstatSync(join(installed.folder, WEIGHTS_FILE))
    expect(own.isSymbolicLink()).toBe(false)
    expect(own.ino).toBe(statSync(join(repository, 'blobs', weightsSha256)).ino)
    const small = CHECKPOINT_FILES.filter((path) => path !== WEIGHTS_FILE)
    const smallBytes = small.reduce((sum, path) => sum + statSync(join(fixture, path)).size, 0)
    const manifestBytes = statSync(join(installed.folder, 'laya-bar.json')).size
    expect(await store.measure('mine')).toBe(smallBytes + manifestBytes)
    await store.remove('mine')
    expect(readFileSync(join(found!.folder, WEIGHTS_FILE)).length).toBe(3_067_658)
  })

  it('gives the weights of a download that has only them, under any revision', async () => {
    await startHub()
    plantCache(join(root, 'cache'), 'somebody/else')
    const search = { env: { HF_HUB_CACHE: join(root, 'cache') }, home: root }
    const { weights } = await install({ search })
    expect(weights).toBe('linked')
    expect(double!.requests.some(({ on }) => on === 'cdn')).toBe(false)
    await store.verify('mine')
  })

  it('is not trusted: damaged weights are fetched instead', async () => {
    await startHub()
    const repository = plantCache(join(root, 'cache'))
    const blob = join(repository, 'blobs', weightsSha256)
    const bytes = readFileSync(blob)
    bytes[2_000_000] = bytes[2_000_000]! ^ 1
    writeFileSync(blob, bytes)
    const { weights } = await install({ search: { env: { HF_HUB_CACHE: join(root, 'cache') }, home: root } })
    expect(weights).toBe('fetched')
    await store.verify('mine')
    expect(readFileSync(blob).equals(bytes)).toBe(true)
  })

  it('with a missing blob is not offered', async () => {
    const repository = plantCache(join(root, 'cache'))
    rmSync(join(repository, 'blobs', weightsSha256))
    expect(await findCopies({ env: { HF_HUB_CACHE: join(root, 'cache') }, home: root })).toEqual([])
  })

  it('folders of the user are looked through two levels down', async () => {
    cpSync(fixture, join(root, 'models', 'laya', 'tuned'), { recursive: true })
    const search = { env: {}, home: root, folders: [join(root, 'models'), join(root, 'absent')] }
    expect(await findCopies(search)).toMatchObject([{ name: 'tuned', where: 'folder', revision: null }])
  })
})

describe('importing a folder', () => {
  it('links the weights and copies the rest; the folder stays as it was', async () => {
    const folder = copyFixture()
    const { installed, weights } = await importFolder(folder)
    expect(weights).toBe('linked')
    expect(installed).toMatchObject({ repo: null, revision: null, owner: 'user' })
    expect(installed.description).toMatch(/^mine, 320 tokens|^mine, \d+ tokens/)
    const inode = (path: string) => statSync(join(folder, path)).ino
    expect(statSync(join(installed.folder, WEIGHTS_FILE)).ino).toBe(inode(WEIGHTS_FILE))
    expect(statSync(join(installed.folder, 'rl_agent_config.json')).ino).not.toBe(
      inode('rl_agent_config.json'),
    )
    await store.remove('mine')
    expect(readdirSync(folder, { recursive: true }).length).toBe(
      readdirSync(fixture, { recursive: true }).length,
    )
  })

  it('copies where the volume cannot link', async () => {
    const shm = '/dev/shm'
    if (!existsSync(shm) || statSync(shm).dev === statSync(root).dev) return
    const other = mkdtempSync(join(shm, 'laya-import-'))
    try {
      cpSync(fixture, other, { recursive: true })
      const stages = new Set<string>()
      const { installed, weights } = await importFolder(other, 'mine', {
        onProgress: (stage) => stages.add(stage),
      })
      expect(weights).toBe('copied')
      expect(stages).toContain('copying')
      expect(installed.manifest.linked).toBe(false)
      expect(await store.measure('mine')).toBeGreaterThan(3_000_000)
    } finally {
      rmSync(other, { recursive: true })
    }
  })

  const faults: [string, (folder: string) => void, RegExp][] = [
    [
      'a missing tokenizer',
      (at) => rmSync(join(at, 'tokenizer/tokenizer.json')),
      /^tokenizer\/tokenizer\.json: /,
    ],
    ['a missing configuration', (at) => rmSync(join(at, 'rl_agent_config.json')), /^rl_agent_config\.json: /],
    ['no weights', (at) => rmSync(join(at, WEIGHTS_FILE)), /^model\.safetensors: /],
    [
      'half the weights',
      (at) => truncateSync(join(at, WEIGHTS_FILE), 1_500_000),
      /^model\.safetensors: tensor '/,
    ],
    [
      'a page instead of weights',
      (at) => writeFileSync(join(at, WEIGHTS_FILE), '<!doctype html><html></html>'),
      /^model\.safetensors: /,
    ],
    [
      'text instead of JSON',
      (at) => writeFileSync(join(at, 'encoder/config.json'), '{,'),
      /^encoder\/config\.json: /,
    ],
    [
      'another network',
      (at) => writeFileSync(join(at, 'encoder/config.json'), '{"model_type":"bert"}'),
      /^encoder\/config\.json: model_type/,
    ],
    [
      'a weight that is not a number',
      (at) => {
        const bytes = readFileSync(join(at, WEIGHTS_FILE))
        bytes.writeUInt16LE(0x7e00, bytes.length - 100)
        writeFileSync(join(at, WEIGHTS_FILE), bytes)
      },
      /^model\.safetensors: tensor '.*' holds a value that is not finite/,
    ],
  ]
  it.each(faults)('with %s names the file and the fault', async (_, damage, sentence) => {
    const folder = copyFixture()
    damage(folder)
    await expect(importFolder(folder)).rejects.toMatchObject({
      code: 'checkpoint_unusable',
      message: expect.stringMatching(sentence),
    })
    expect(names()).toEqual(['laya-demo'])
  })

  it('refuses what is not a folder, a name in use, and other weights under a published name', async () => {
    await expect(importFolder(join(root, 'absent'))).rejects.toMatchObject({ code: 'checkpoint_unusable' })
    await importFolder(fixture)
    await expect(importFolder(fixture)).rejects.toMatchObject({ code: 'checkpoint_exists' })
    await expect(importFolder(fixture, 'english')).rejects.toMatchObject({ code: 'digest_mismatch' })
    expect(names()).toEqual(['laya-demo', 'mine'])
  })
})

describe('verify', () => {
  it('passes the embedded demo, which is always there', async () => {
    const progress: number[] = []
    await store.verify('demo', { onProgress: (done, total) => progress.push(done / total) })
    expect(progress.at(-1)).toBe(1)
    expect(progress).toEqual([...progress].sort((a, b) => a - b))
    expect(store.open('laya-demo')).toMatchObject({ demo: true, fault: null, aliases: ['demo'] })
  })

  it('finds one changed bit, keeps the checkpoint from being loaded, and forgets it when it is mended', async () => {
    const { installed } = await importFolder(copyFixture())
    const path = join(installed.folder, WEIGHTS_FILE)
    const good = readFileSync(path)
    const bad = Buffer.from(good)
    bad[2_000_000] = bad[2_000_000]! ^ 4
    writeFileSync(path, bad)
    await expect(store.verify('mine')).rejects.toMatchObject({
      code: 'checkpoint_unusable',
      message: 'model.safetensors: the file does not match its digest.',
    })
    const again = createStore({ dataFolder: join(root, 'data') })
    expect(() => again.open('mine')).toThrow('does not match its digest')
    writeFileSync(path, good)
    await again.verify('mine')
    expect(again.open('mine').fault).toBeNull()
  })

  it('knows what is not installed', async () => {
    await expect(store.verify('english')).rejects.toMatchObject({ code: 'checkpoint_not_installed' })
  })
})

describe('remove', () => {
  it('takes everything that was written and nothing else', async () => {
    await startHub()
    const { installed } = await install()
    mkdirSync(installed.workFolder, { recursive: true })
    linkSync(join(installed.folder, WEIGHTS_FILE), join(installed.workFolder, WEIGHTS_FILE))
    writeFileSync(join(installed.workFolder, 'laya-gpu.weights'), Buffer.alloc(5000))
    writeFileSync(join(root, 'data', 'settings.json'), '{}')
    const measured = await store.measure('mine')
    expect(measured).toBeGreaterThan(3_067_658 + 5000)
    expect(measured).toBeLessThan(2 * 3_067_658)
    expect(await store.remove('mine')).toEqual({ bytes: measured, left: [] })
    const left = readdirSync(join(root, 'data'), { recursive: true, withFileTypes: true })
    expect(left.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual(['settings.json'])
    expect(names()).toEqual(['laya-demo'])
  })

  it('leaves a file of the user in its place and tells of it', async () => {
    const { installed } = await importFolder(fixture)
    writeFileSync(join(installed.folder, 'tokenizer', 'notes.txt'), 'mine')
    const { left } = await store.remove('mine')
    expect(left).toEqual(['tokenizer', 'tokenizer/notes.txt'])
    expect(readFileSync(join(installed.folder, 'tokenizer', 'notes.txt'), 'utf8')).toBe('mine')
    expect(names()).toEqual(['laya-demo'])
  })

  it('keeps graphs that another checkpoint with the same weights uses', async () => {
    const { installed } = await importFolder(fixture)
    await importFolder(fixture, 'other')
    mkdirSync(installed.workFolder, { recursive: true })
    writeFileSync(join(installed.workFolder, 'laya.onnx'), 'x')
    await store.remove('mine')
    expect(existsSync(join(installed.workFolder, 'laya.onnx'))).toBe(true)
    await store.remove('other')
    expect(existsSync(installed.workFolder)).toBe(false)
  })

  it('discards an unfinished installation and a broken one', async () => {
    await startHub({ bytesPerSecond: 10_000_000 })
    const stop = new AbortController()
    double!.onSent((total) => total > 1_000_000 && stop.abort())
    await expect(install({ signal: stop.signal })).rejects.toThrow()
    await store.remove('mine')
    expect(namesIn(store.folders.staging)).toEqual([])
    const { installed } = await importFolder(fixture)
    rmSync(join(installed.folder, 'encoder'), { recursive: true })
    store.refresh()
    expect(store.find('mine')!.fault?.sentence).toBe('encoder/config.json: the file is missing.')
    await store.remove('mine')
    expect(existsSync(installed.folder)).toBe(false)
  })

  it('refuses the demo, what is not there, and anything that is not a name', async () => {
    await expect(store.remove('demo')).rejects.toMatchObject({ code: 'checkpoint_not_removable' })
    mkdirSync(join(root, 'data', 'staging'), { recursive: true })
    for (const name of ['english', '..', '../..', '', '.'])
      await expect(store.remove(name)).rejects.toMatchObject({ code: 'checkpoint_not_installed' })
    expect(existsSync(root)).toBe(true)
  })
})

describe('the list', () => {
  it('ignores folders without a manifest, with another name, or with one that leads elsewhere', async () => {
    const { installed } = await importFolder(fixture)
    const at = store.folders.checkpoints
    mkdirSync(join(at, 'empty'))
    cpSync(installed.folder, join(at, 'renamed'), { recursive: true })
    cpSync(installed.folder, join(at, 'evil'), { recursive: true })
    const evil = JSON.parse(readFileSync(join(installed.folder, 'laya-bar.json'), 'utf8'))
    evil.name = 'evil'
    evil.files.push({ path: '../../settings.json', bytes: 1, sha256: '0'.repeat(64), assurance: 'nothing' })
    writeFileSync(join(at, 'evil', 'laya-bar.json'), JSON.stringify(evil))
    mkdirSync(join(at, 'cut'))
    writeFileSync(join(at, 'cut', 'laya-bar.json'), '{"format": 1, "na')
    store.refresh()
    expect(names()).toEqual(['laya-demo', 'mine'])
  })

  it('notices what another process installs', async () => {
    const other = createStore({ dataFolder: join(root, 'data') })
    expect(other.list()).toHaveLength(1)
    await importFolder(fixture)
    expect(other.find('mine')).toBeDefined()
  })
})
