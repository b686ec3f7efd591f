/** Screen coordinates in points: y grows downwards, displays left of and above the main one are negative. */
export interface Rectangle {
  x: number
  y: number
  width: number
  height: number
}

export interface DisplayArea {
  bounds: Rectangle
  /** Without menu bar and Dock. */
  workArea: Rectangle
}

/** Space between the menu bar and the panel, and between the panel and the edges of the screen. */
const GAP = 6

/**
 * Where the panel opens: centred under its icon, wholly inside the display's work area, never taller than it.
 *
 * @param icon bounds that came with the click, or `null` when there is no icon to be seen: the panel then opens in
 *   the middle of the display's upper half.
 */
export function place(
  icon: Rectangle | null,
  { workArea }: DisplayArea,
  size: { width: number; height: number },
): Rectangle {
  const width = Math.min(size.width, workArea.width - 2 * GAP)
  const height = Math.min(size.height, workArea.height - 2 * GAP)
  const centre = icon === null ? workArea.x + workArea.width / 2 : icon.x + icon.width / 2
  const x = clamp(centre - width / 2, workArea.x + GAP, workArea.x + workArea.width - width - GAP)
  const below = icon === null ? workArea.y + (workArea.height - height) / 3 : icon.y + icon.height + GAP
  const y = clamp(below, workArea.y + GAP, workArea.y + workArea.height - height - GAP)
  return { x: Math.round(x), y: Math.round(y), width: Math.round(width), height: Math.round(height) }
}

/**
 * Whether the menu bar really shows the icon. macOS hides icons behind a notch or by the user's choice, and then
 * reports empty bounds or bounds outside every menu bar.
 */
export function isShown(icon: Rectangle, displays: DisplayArea[]): boolean {
  if (icon.width <= 0 || icon.height <= 0) return false
  return displays.some(({ bounds, workArea }) => {
    const middle = icon.y + icon.height / 2
    const inBar = middle >= bounds.y && middle <= Math.max(workArea.y, bounds.y + icon.height)
    return inBar && icon.x >= bounds.x && icon.x + icon.width <= bounds.x + bounds.width
  })
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most))
}
