import { join } from 'node:path'
import { BrowserWindow, type RenderProcessGoneDetails, screen, type WebContents } from 'electron'
import { CHANNEL, type Snapshot } from '../contract.ts'
import { type BreakerRule, strike, UNBROKEN } from '../domain/breaker.ts'
import { place, type Rectangle } from './place.ts'
import { PANEL_URL } from './protocol.ts'

const SIZE = { width: 420, height: 700 }
/** A click on the icon takes the focus first: hiding waits, so that the click finds the panel open and closes it. */
const BLUR_MS = 100
/** A page that dies is built again, but not for ever. */
const REBUILD: BreakerRule = { delaysMs: [0, 0, 0], withinMs: 60_000 }

export interface Panel {
  /** Under the icon, or in the middle of the pointer's display when there is none to be seen. */
  show(icon: Rectangle | null): void
  hide(): void
  visible(): boolean
  /** `null` between a crash and the next window. */
  contents(): WebContents | null
  /** Sent only while somebody looks; a page that opens asks by itself. */
  push(snapshot: Snapshot): void
  close(): void
}

export interface PanelParts {
  /** Folder of the bundles. */
  dist: string
  packaged: boolean
  quitting(): boolean
  onVisible(visible: boolean): void
  /** The page's process ended. `lost`: it died so often that it stays away until the panel is opened again. */
  onGone(reason: string, lost: boolean): void
}

/** The one window. It is hidden, never closed, until the app quits. */
export function createPanel({ dist, packaged, quitting, onVisible, onGone }: PanelParts): Panel {
  let blur: NodeJS.Timeout | undefined
  let breaker = UNBROKEN
  let window: BrowserWindow | null = build()

  return {
    show(icon) {
      window ??= build()
      clearTimeout(blur)
      const display =
        icon === null
          ? screen.getDisplayNearestPoint(screen.getCursorScreenPoint())
          : screen.getDisplayMatching(icon)
      window.setBounds(place(icon, display, SIZE))
      window.show()
      window.focus()
    },
    hide,
    visible,
    contents: () => window?.webContents ?? null,
    push(snapshot) {
      if (visible()) window?.webContents.send(CHANNEL.snapshot, snapshot)
    },
    close() {
      clearTimeout(blur)
      window?.destroy()
      window = null
    },
  }

  function visible(): boolean {
    return window?.isVisible() ?? false
  }

  function hide(): void {
    clearTimeout(blur)
    window?.hide()
  }

  function build(): BrowserWindow {
    const built = new BrowserWindow({
      ...SIZE,
      // A panel takes the keyboard without bringing the app to the front, and shows over full-screen apps.
      type: 'panel',
      title: 'Laya Bar',
      show: false,
      frame: false,
      resizable: false,
      movable: false,
      minimizable: false,
      maximizable: false,
      fullscreenable: false,
      skipTaskbar: true,
      alwaysOnTop: true,
      vibrancy: 'popover',
      // Otherwise the material greys out as soon as another app is active (electron#16417, #25083).
      visualEffectState: 'active',
      webPreferences: {
        preload: join(dist, 'electron', 'preload.cjs'),
        nodeIntegration: false,
        contextIsolation: true,
        sandbox: true,
        webviewTag: false,
        spellcheck: false,
        devTools: !packaged,
      },
    })
    // Without the last flag the Dock icon flickers (electron#26350, #37832).
    built.setVisibleOnAllWorkspaces(true, { visibleOnFullScreen: true, skipTransformProcessType: true })
    const { webContents } = built
    webContents.on('will-navigate', (event) => event.preventDefault())
    webContents.setWindowOpenHandler(() => ({ action: 'deny' }))
    webContents.on('render-process-gone', (_event, details) => rebuild(built, details))
    webContents.on('before-input-event', (_event, { type, key }) => {
      if (type === 'keyDown' && key === 'Escape') hide()
    })
    built.on('show', () => onVisible(true))
    built.on('hide', () => onVisible(false))
    built.on('blur', () => {
      clearTimeout(blur)
      blur = setTimeout(() => {
        if (window === built && !built.isFocused() && !webContents.isDevToolsFocused()) hide()
      }, BLUR_MS)
    })
    built.on('close', (event) => {
      if (quitting()) return
      event.preventDefault()
      hide()
    })
    void built.loadURL(PANEL_URL)
    return built
  }

  function rebuild(dead: BrowserWindow, { reason }: RenderProcessGoneDetails): void {
    if (window !== dead || quitting()) return
    const bounds = dead.isVisible() ? dead.getBounds() : null
    const struck = strike(breaker, REBUILD, Date.now())
    breaker = struck.breaker
    const lost = struck.delayMs === null
    dead.destroy()
    window = lost ? null : build()
    if (bounds !== null && window !== null) {
      window.setBounds(bounds)
      window.show()
    } else onVisible(false)
    onGone(reason, lost)
  }
}
