import { app, dialog } from 'electron'

/** macOS runs an app that was opened from the disk image or the Downloads folder from a random read-only place. */
const TRANSLOCATED = '/AppTranslocation/'

/**
 * Asks once, at the first start, to move to the Applications folder: from a random place, opening at login cannot
 * work and the compile cache would be lost. Moving starts the app again.
 */
export async function offerApplicationsFolder(firstRun: boolean): Promise<void> {
  if (!firstRun || !app.isPackaged || !app.getPath('exe').includes(TRANSLOCATED)) return
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: 'Move Laya Bar to the Applications folder?',
    detail: 'It was opened from a temporary place. Opening at login only works from the Applications folder.',
    buttons: ['Move', 'Not now'],
    defaultId: 0,
    cancelId: 1,
  })
  if (response === 0) app.moveToApplicationsFolder()
}
