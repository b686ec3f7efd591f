import type { Snapshot } from '../contract.ts'
import { deviceTitle } from './device.ts'

/** One request that anybody can paste into a terminal, whatever the shell: no quote inside the quotes. */
export function curlText(url: string): string {
  const body = {
    state: 'My card was charged twice for one order.',
    questions: {
      team: {
        type: 'choice',
        instructions: 'Which team should own this ticket?',
        criteria: { payments: 'Charges, refunds, invoices', accounts: 'Login, permissions', other: null },
      },
    },
  }
  return [
    `curl -s ${url.replace(/\/$/, '')}/v1/systemone \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n')
}

/** Log lines in a report. */
const LINES = 50

/**
 * Markdown for an issue: versions, machine, phase, engine and its proof, the last problem, the last log lines. A
 * Snapshot holds no texts of requests and no token; names in paths are taken out here.
 */
export function reportText(snapshot: Snapshot): string {
  const { version, phase, error, checkpoint, device, host, load, latency, settings } = snapshot
  const rows: [string, string][] = [
    ['Laya Bar', version],
    ['System', host.os],
    ['Chip', host.chip || 'unknown'],
    ['Memory of the service', host.rssMb > 0 ? `${Math.round(host.rssMb)} MB` : 'no service runs'],
    ['Power', `${host.onBattery ? 'battery' : 'mains'}, thermal state ${host.thermal}`],
    ['Phase', phase],
    ['Checkpoint', checkpoint ?? 'none'],
    ['Engine asked for', `${settings.engine}${settings.requireDevice ? ', required' : ''}`],
  ]
  if (device !== undefined) {
    const proof = device.proof.length > 0 ? device.proof.join(', ') : 'none'
    rows.push(
      ['Device', `${deviceTitle(device)}, ${device.precision}`],
      ['Proof', proof],
      ['Why', device.why],
    )
    const { parity } = device
    if (parity !== undefined)
      rows.push([
        'Parity',
        `${parity.passed ? 'passed' : 'failed'}: ${parity.cases} questions, ${parity.flips} flips, ` +
          `largest difference ${parity.maxDifference.toPrecision(2)}`,
      ])
  }
  rows.push(
    [
      'Requests',
      `${load.served} served, ${load.refused} refused, ${load.failed} failed, ${load.abandoned} abandoned`,
    ],
    ['Latency', `p50 ${ms(latency.p50)}, p95 ${ms(latency.p95)}, p99 ${ms(latency.p99)}`],
    ['Last problem', error === undefined ? 'none' : `${error.code}: ${error.sentence}`],
  )
  const table = rows.map(([name, value]) => `| ${name} | ${cell(value)} |`)
  const lines = snapshot.logs
    .slice(-LINES)
    .map(({ at, level, text, id }) => [new Date(at).toISOString(), level, id, text].filter(Boolean).join(' '))
  const text = ['| | |', '|---|---|', ...table, '', '```text', ...lines.map(fence), '```', ''].join('\n')
  return hideNames(text)
}

/** Home folders carry the user's name. */
function hideNames(text: string): string {
  return text.replace(/(\/Users|\/home)\/[^/\s"'|]+/g, '~')
}

function cell(value: string): string {
  return value.replace(/\s+/g, ' ').replaceAll('|', '\\|')
}

function fence(line: string): string {
  return line.replaceAll('```', "'''")
}

function ms(value: number): string {
  return value === 0 ? '–' : `${value < 100 ? value.toFixed(1) : Math.round(value)} ms`
}
