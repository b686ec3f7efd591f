import { mkdirSync } from 'node:fs'
import { release, type } from 'node:os'
import { join } from 'node:path'
import {
  app,
  clipboard,
  nativeTheme,
  powerMonitor,
  powerSaveBlocker,
  screen,
  shell,
  utilityProcess,
} from 'electron'
import type { Command, FromService, Result, Snapshot } from '../contract.ts'
import { publicSettings } from '../domain/settings.ts'
import { createSupervisor, type SupervisorState } from '../domain/supervisor.ts'
import type { Log } from '../service/log.ts'
import { createCommands } from './commands.ts'
import { emptyFolder, type Files, readSettings, writeSettings } from './files.ts'
import { createLoginItem } from './login-item.ts'
import { createNotices } from './notices.ts'
import { createPanel, type Panel } from './panel.ts'
import { isShown, type Rectangle } from './place.ts'
import { createPower } from './power.ts'
import { createQuit, HARD_LIMIT_MS, type Quit, watchProcesses } from './quit.ts'
import { createSpawner, SERVICE_NAME, serviceEnvironment } from './spawn.ts'
import { createStatusItem } from './status-item.ts'
import { type Act, renderTray } from './tray.ts'
import { createTrials } from './trials.ts'
import { composeSnapshot } from './view.ts'

export interface Shell {
  panel: Panel
  quit: Quit
  snapshot(): Snapshot
  run(command: Command): Promise<Result>
  /** Opened again by the user: the panel shows, whatever became of the icon. */
  showPanel(): void
  /** First look at the world: shows the icon, serves if the user wants that, opens the panel on the first run. */
  begin(): void
}

/** Puts the parts together. State lives here and in the supervisor; the view is composed from both at each change. */
export function createShell(files: Files, dist: string, log: Log): Shell {
  const notices = createNotices(Date.now)
  const login = createLoginItem(app, notices)
  let heard: { snapshot: Snapshot; generation: number } | null = null
  let settings = load()
  let tick: NodeJS.Timeout | undefined
  let pressed: boolean | null = null
  let begun = false

  const spawner = createSpawner({
    fork: utilityProcess.fork,
    entry: join(dist, 'service', 'main.js'),
    environment,
    onOutput: (text) =>
      log.info('The service wrote to its terminal.', { output: text.trim().slice(0, 2000) }),
    kill: (pid, signal) => process.kill(pid, signal),
  })
  const trials = createTrials({
    fork: utilityProcess.fork,
    entry: join(dist, 'service', 'trial.js'),
    environment,
    post: (told) => supervisor.post(told),
    kill: (pid, signal) => process.kill(pid, signal),
  })
  const supervisor = createSupervisor({
    spawn(launch) {
      trials.endAll()
      emptyFolder(files.temporary)
      const child = spawner.spawn(launch)
      child.post(power.report())
      child.post({ kind: 'looking', visible: panel.visible() })
      return child
    },
    setTimer(callback, ms) {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
    now: Date.now,
    onMessage: hear,
    onChange: follow,
  })
  const power = createPower({
    monitor: powerMonitor,
    blocker: powerSaveBlocker,
    post: (report) => supervisor.post(report),
    onChange: publish,
    onShutdown: () => quit.shutdown(),
  })
  const quit = createQuit({
    stop: () => supervisor.stop(),
    watch: () => {
      const service = spawner.pid()
      watchProcesses([...(service === undefined ? [] : [service]), process.pid], HARD_LIMIT_MS)
    },
    close() {
      clearTimeout(tick)
      trials.endAll()
      power.release()
      panel.close()
      item.close()
      log.close()
    },
    exit: () => app.exit(0),
  })
  const panel = createPanel({
    dist,
    packaged: app.isPackaged,
    quitting: quit.quitting,
    onVisible(visible) {
      supervisor.post({ kind: 'looking', visible })
      if (visible) {
        login.refresh()
        publish()
      }
    },
    onGone(reason, lost) {
      log.error('The process of the panel ended.', { reason, lost })
      notices.show('panel', 'warning', `The panel was built again: its process ended (${reason}).`)
      publish()
    },
  })
  const item = createStatusItem({
    icons: join(dist, 'icons'),
    onPress() {
      pressed = panel.visible()
    },
    onClick(bounds) {
      const open = pressed ?? panel.visible()
      pressed = null
      if (open) panel.hide()
      else panel.show(bounds)
    },
    act: (act) => void perform(act),
  })
  const commands = createCommands({
    supervisor,
    running: spawner.alive,
    snapshot,
    settings: {
      read: () => readSettings(files.settings).settings,
      write(next) {
        writeSettings(files.settings, next)
        settings = publicSettings(next)
        publish()
      },
    },
    setOpenAtLogin(open) {
      login.set(open)
      publish()
    },
    async open(what) {
      const folder = files[what]
      if (what !== 'docs') mkdirSync(folder, { recursive: true })
      return shell.openPath(folder)
    },
    reveal: (path) => shell.showItemInFolder(path),
    copy: (text) => clipboard.writeText(text),
    dismiss(notice) {
      const ours = notices.dismiss(notice)
      if (ours) publish()
      return ours
    },
    quit: () => quit.request(),
  })
  app.on('child-process-gone', (_event, { type, name, serviceName, reason }) => {
    log.warn('A child process ended.', { type, name, reason })
    if (serviceName === SERVICE_NAME || name === SERVICE_NAME) spawner.noteGone(reason)
  })

  return { panel, quit, snapshot, run, showPanel, begin }

  function environment(): Record<string, string> {
    return serviceEnvironment(process.env, {
      LAYA_BAR_HOME: files.data,
      LAYA_BAR_LOGS: files.logs,
      TMPDIR: files.temporary,
    })
  }

  function load() {
    const parsed = readSettings(files.settings)
    for (const [n, sentence] of parsed.notices.entries()) notices.show(`settings.${n}`, 'warning', sentence)
    return publicSettings(parsed.settings)
  }

  function begin(): void {
    begun = true
    publish()
    if (settings.serveAtStart) supervisor.start()
    if (!settings.firstRunDone) showPanel()
  }

  function hear(message: FromService): void {
    if (message.kind === 'trial') trials.hear(message)
    if (message.kind === 'asked') void run({ kind: message.command })
    if (message.kind !== 'snapshot') return
    heard = { snapshot: message.snapshot, generation: supervisor.state().generation }
    settings = message.snapshot.settings
    publish()
  }

  function follow(state: SupervisorState): void {
    const { problem, retryAt, phase, generation, restarts } = state
    if (!spawner.alive()) trials.endAll()
    log.info('Service', { phase, generation, restarts, problem: problem?.code })
    if (problem !== undefined && retryAt !== undefined)
      notices.show(
        'restarted',
        'warning',
        problem.sentence,
        'It is started again by itself, at most three times.',
      )
    else if (phase === 'failed' || phase === 'stopped') notices.dismiss('restarted')
    publish()
  }

  function snapshot(): Snapshot {
    return composeSnapshot({
      version: app.getVersion(),
      supervisor: supervisor.state(),
      running: spawner.alive(),
      heard,
      settings,
      openAtLogin: login.open(),
      thermal: power.thermal(),
      onBattery: power.onBattery(),
      os: systemName(),
      notices: notices.list(),
      now: Date.now(),
    })
  }

  function publish(): void {
    // Parts report their first state while the others are still being made.
    if (!begun) return
    const current = snapshot()
    item.update(renderTray(current))
    power.holdFor(current)
    panel.push(current)
    const { appearance } = current.settings
    if (nativeTheme.themeSource !== appearance) nativeTheme.themeSource = appearance
    clearTimeout(tick)
    // The seconds until the next attempt count down.
    if (supervisor.state().retryAt !== undefined) tick = setTimeout(publish, 1000)
  }

  async function run(command: Command): Promise<Result> {
    if (quit.quitting() && command.kind !== 'quit')
      return { ok: false, error: { code: 'service_not_running', sentence: 'Laya Bar is quitting.' } }
    return commands(command)
  }

  /** A click in the menu: what fails there is shown as a notice, since a menu cannot answer. */
  async function perform(act: Act): Promise<void> {
    if (act.kind === 'about') return app.showAboutPanel()
    if (act.kind === 'showPanel' || act.kind === 'benchmark') showPanel()
    if (act.kind === 'showPanel') return
    const result = await run(act).catch((error: unknown): Result => {
      return {
        ok: false,
        error: { code: 'internal_error', sentence: error instanceof Error ? error.message : String(error) },
      }
    })
    if (result.ok) return
    notices.show('menu', 'warning', result.error.sentence, result.error.hint)
    publish()
    showPanel()
  }

  function showPanel(): void {
    const icon: Rectangle = item.bounds()
    const seen = isShown(icon, screen.getAllDisplays())
    if (seen) notices.dismiss('icon')
    else
      notices.show(
        'icon',
        'info',
        'The menu bar does not show the icon of Laya Bar.',
        'It may be behind the notch, or switched off in System Settings, Menu Bar. Opening the app again always shows this panel.',
      )
    panel.show(seen ? icon : null)
    publish()
  }
}

function systemName(): string {
  return process.platform === 'darwin' ? `macOS ${process.getSystemVersion()}` : `${type()} ${release()}`
}
