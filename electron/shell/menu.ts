import { app, Menu } from 'electron'

/** Never seen in a menu-bar app, but without it Cmd+C, Cmd+V and Cmd+Q do nothing in the panel. */
export function setApplicationMenu(): void {
  Menu.setApplicationMenu(
    Menu.buildFromTemplate([
      { label: app.name, submenu: [{ role: 'about' }, { type: 'separator' }, { role: 'quit' }] },
      {
        label: 'Edit',
        submenu: [
          { role: 'undo' },
          { role: 'redo' },
          { type: 'separator' },
          { role: 'cut' },
          { role: 'copy' },
          { role: 'paste' },
          { role: 'selectAll' },
        ],
      },
      ...(app.isPackaged ? [] : [{ label: 'Develop', submenu: [{ role: 'toggleDevTools' as const }] }]),
    ]),
  )
  app.setAboutPanelOptions({
    applicationName: 'Laya Bar',
    applicationVersion: app.getVersion(),
    credits: 'Keeps the decision model Laya resident and answers POST /v1/systemone on localhost.',
  })
}
