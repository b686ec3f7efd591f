import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { app, crashReporter, ipcMain, protocol, session } from 'electron'
import { findDataFolder } from '../../models/data-folder.ts'
import { CHANNEL } from '../contract.ts'
import { createLog, type Log } from '../service/log.ts'
import { clearLeftover, listFiles, readSettings } from './files.ts'
import { answer, isTrusted, UNTRUSTED } from './ipc.ts'
import { setApplicationMenu } from './menu.ts'
import { offerApplicationsFolder } from './move.ts'
import { createFileHandler, harden, PRIVILEGES, SCHEME } from './protocol.ts'
import { createShell, type Shell } from './shell.ts'

/** `dist/`, or the same folder inside `app.asar`. */
const dist = dirname(dirname(fileURLToPath(import.meta.url)))

app.setName('Laya Bar')
const data = findDataFolder()
const logs = process.env.LAYA_BAR_HOME ? join(data, 'logs') : app.getPath('logs')
const files = listFiles(data, logs, app.isPackaged ? process.resourcesPath : dirname(dist))
app.setPath('userData', files.profile)
app.setPath('crashDumps', files.crashes)
crashReporter.start({ uploadToServer: false })
protocol.registerSchemesAsPrivileged([PRIVILEGES])
app.dock?.hide()

// The lock belongs to the profile: two data folders are two apps.
if (app.requestSingleInstanceLock()) void boot()
else app.exit(0)

async function boot(): Promise<void> {
  const log = createLog({ file: join(files.logs, 'shell.log'), level: 'info', now: Date.now })
  catchFaults(log)
  await app.whenReady()
  await endLeftover(log)
  servePanel()
  setApplicationMenu()
  const shell = createShell(files, dist, log)
  listen(shell)
  answerPanel(shell, log)
  await offerApplicationsFolder(!readSettings(files.settings).settings.firstRunDone)
  shell.begin()
}

function listen(shell: Shell): void {
  app.on('second-instance', () => shell.showPanel())
  app.on('activate', () => shell.showPanel())
  app.on('before-quit', (event) => shell.quit.beforeQuit(event))
  // The window is hidden, never the last one: without a listener its rebuilding would end the app.
  app.on('window-all-closed', () => {})
}

function servePanel(): void {
  harden(session.defaultSession)
  protocol.handle(SCHEME, createFileHandler(join(dist, 'renderer')))
}

function answerPanel(shell: Shell, log: Log): void {
  ipcMain.handle(CHANNEL.pull, (event) =>
    isTrusted(event, shell.panel.contents()) ? shell.snapshot() : null,
  )
  ipcMain.handle(CHANNEL.invoke, (event, raw: unknown) =>
    isTrusted(event, shell.panel.contents())
      ? answer(raw, shell.run, (error) => log.error('A command failed.', { error: String(error) }))
      : UNTRUSTED,
  )
}

async function endLeftover(log: Log): Promise<void> {
  const { verdict, file } = await clearLeftover(files.endpoint)
  if (verdict !== 'none') log.info('A service of an earlier run was named.', { verdict, pid: file?.pid })
}

/** A fault of ours must not take the icon away: it is logged, and the service is a process of its own. */
function catchFaults(log: Log): void {
  process.on('uncaughtException', (error) =>
    log.error('Unforeseen.', { error: error.stack ?? String(error) }),
  )
  process.on('unhandledRejection', (error) => log.error('Unforeseen.', { error: String(error) }))
}
