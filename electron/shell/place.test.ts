import { describe, expect, test } from 'vitest'
import { type DisplayArea, isShown, place, type Rectangle } from './place.ts'

const rectangle = (x: number, y: number, width: number, height: number): Rectangle => ({
  x,
  y,
  width,
  height,
})
const display = (bounds: Rectangle, bar: number, dock = 0): DisplayArea => ({
  bounds,
  workArea: rectangle(bounds.x, bounds.y + bar, bounds.width, bounds.height - bar - dock),
})

const SIZE = { width: 420, height: 680 }

/** Four desks: a notebook with a notch, a wide display left of it, one above it, and a small one turned upright. */
const NOTEBOOK = display(rectangle(0, 0, 1512, 982), 38, 70)
const LEFT = display(rectangle(-2560, -200, 2560, 1440), 25)
const ABOVE = display(rectangle(300, -1080, 1920, 1080), 25)
const UPRIGHT = display(rectangle(1512, 0, 600, 640), 25)

describe('under the icon, on the display of the icon', () => {
  test.each([
    ['notebook, middle', rectangle(1000, 7, 24, 24), NOTEBOOK, rectangle(802, 44, 420, 680)],
    [
      'notebook, last icon at the right edge',
      rectangle(1486, 7, 24, 24),
      NOTEBOOK,
      rectangle(1086, 44, 420, 680),
    ],
    ['notebook, first icon at the left edge', rectangle(0, 7, 24, 24), NOTEBOOK, rectangle(6, 44, 420, 680)],
    [
      'left display, negative coordinates',
      rectangle(-700, -200, 24, 24),
      LEFT,
      rectangle(-898, -169, 420, 680),
    ],
    [
      'left display, right edge stays there',
      rectangle(-24, -200, 24, 24),
      LEFT,
      rectangle(-426, -169, 420, 680),
    ],
    ['display above', rectangle(1800, -1080, 25, 25), ABOVE, rectangle(1603, -1049, 420, 680)],
    [
      'small upright display: shorter, inside',
      rectangle(2050, 0, 24, 24),
      UPRIGHT,
      rectangle(1686, 31, 420, 603),
    ],
    ['half points are rounded', rectangle(1000.5, 7.5, 23, 23), NOTEBOOK, rectangle(802, 44, 420, 680)],
  ])('%s', (_name, icon, area, expected) => {
    expect(place(icon, area, SIZE)).toEqual(expected)
  })
})

test.each([NOTEBOOK, LEFT, ABOVE, UPRIGHT])('without an icon: inside display %#, centred', (area) => {
  const at = place(null, area, SIZE)
  const { workArea } = area
  expect(at.x + at.width / 2).toBeCloseTo(workArea.x + workArea.width / 2, 0)
  expect(at.y).toBeGreaterThanOrEqual(workArea.y)
  expect(at.y + at.height).toBeLessThanOrEqual(workArea.y + workArea.height)
})

test('a display narrower than the panel gets a narrower panel', () => {
  const narrow = display(rectangle(0, 0, 320, 480), 25)
  expect(place(rectangle(290, 0, 24, 24), narrow, SIZE)).toEqual(rectangle(6, 31, 308, 443))
})

describe('whether the icon can be seen', () => {
  const desks = [NOTEBOOK, LEFT, ABOVE, UPRIGHT]
  test.each([
    ['in the menu bar', rectangle(1000, 7, 24, 24), true],
    ['in the bar of the left display', rectangle(-700, -200, 24, 24), true],
    ['empty: forbidden by the user', rectangle(0, 0, 0, 0), false],
    ['pushed off the left edge by a crowded bar', rectangle(-3000, 7, 24, 24), false],
    ['below the bar', rectangle(1000, 400, 24, 24), false],
    ['across two displays', rectangle(1500, 7, 24, 24), false],
  ])('%s', (_name, icon, expected) => {
    expect(isShown(icon, desks)).toBe(expected)
  })

  test('a hidden menu bar leaves no room between bounds and work area, and the icon still counts', () => {
    expect(isShown(rectangle(100, 0, 24, 24), [display(rectangle(0, 0, 1512, 982), 0)])).toBe(true)
  })
})
