import { join } from 'node:path'
import { Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron'
import type { Rectangle } from './place.ts'
import { type Act, type Item, SHAPES, type Shape, type TrayFace } from './tray.ts'

/** Lets macOS remember where the user dragged the icon. Never changes. */
const GUID = '5c1f1a52-6a6e-4f0b-9d0a-52925292a1a1'

export interface StatusItem {
  update(face: TrayFace): void
  /** Where the menu bar shows it; empty or absurd when it does not. */
  bounds(): Rectangle
  close(): void
}

export interface StatusItemParts {
  /** Folder with `<shape>Template.png` and `<shape>Template@2x.png`. */
  icons: string
  /** The mouse went down on the icon, before the click is complete. */
  onPress(): void
  onClick(bounds: Rectangle): void
  act(act: Act): void
}

/** The icon in the menu bar. Touches the system only when something changed. */
export function createStatusItem({ icons, onPress, onClick, act }: StatusItemParts): StatusItem {
  const images = Object.fromEntries(
    SHAPES.map((shape) => {
      const image = nativeImage.createFromPath(join(icons, `${shape}Template.png`))
      image.setTemplateImage(true)
      return [shape, image]
    }),
  ) as Record<Shape, Electron.NativeImage>
  let shown: TrayFace = { shape: 'off', tooltip: '', menu: [] }
  const tray = new Tray(images.off, GUID)
  tray.setIgnoreDoubleClickEvents(true)
  tray.on('mouse-down', () => onPress())
  tray.on('click', (_event, bounds) => onClick(bounds))
  // Not setContextMenu: with it the left click never arrives.
  tray.on('right-click', () => tray.popUpContextMenu(Menu.buildFromTemplate(menuTemplate(shown.menu, act))))
  return {
    update(face) {
      if (face.shape !== shown.shape) tray.setImage(images[face.shape])
      if (face.tooltip !== shown.tooltip) tray.setToolTip(face.tooltip)
      shown = face
    },
    bounds: () => tray.getBounds(),
    close: () => tray.destroy(),
  }
}

function menuTemplate(groups: Item[][], act: (act: Act) => void): MenuItemConstructorOptions[] {
  return groups.flatMap((group, n) => [
    ...(n > 0 ? [{ type: 'separator' } as const] : []),
    ...group.map((item) => template(item, act)),
  ])
}

function template({ label, act: does, checked, toolTip, submenu }: Item, act: (act: Act) => void) {
  const options: MenuItemConstructorOptions = { label, enabled: does !== undefined || submenu !== undefined }
  if (checked !== undefined) Object.assign(options, { type: 'checkbox', checked })
  if (toolTip !== undefined) options.toolTip = toolTip
  if (submenu !== undefined) options.submenu = submenu.map((item) => template(item, act))
  if (does !== undefined) options.click = () => act(does)
  return options
}
