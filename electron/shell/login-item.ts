import type { App } from 'electron'
import type { Notices } from './notices.ts'

export interface LoginItem {
  /** What the system says, not what was asked for: users switch it off in System Settings. */
  open(): boolean
  set(open: boolean): void
  /** Asks the system again. */
  refresh(): void
}

/** Opening at login: off until asked for, and never switched on again by itself. */
export function createLoginItem(
  app: Pick<App, 'getLoginItemSettings' | 'setLoginItemSettings'>,
  notices: Notices,
): LoginItem {
  let open = false
  refresh()
  return {
    open: () => open,
    refresh,
    set(wanted) {
      app.setLoginItemSettings({ openAtLogin: wanted })
      refresh()
      if (wanted && !open)
        notices.show(
          'login',
          'warning',
          'macOS did not add Laya Bar to the login items.',
          'Move Laya Bar to the Applications folder and try again.',
        )
    },
  }

  function refresh(): void {
    const { openAtLogin, status } = app.getLoginItemSettings()
    open = openAtLogin || status === 'requires-approval'
    if (status === 'requires-approval')
      notices.show(
        'login',
        'warning',
        'Opening at login waits for your approval.',
        'Open System Settings, General, Login Items and allow Laya Bar.',
      )
    else notices.dismiss('login')
  }
}
