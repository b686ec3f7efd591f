/** What the network looks like, from `rl_agent_config.json` and `encoder/config.json`. */
export interface Architecture {
  vocabSize: number
  hiddenSize: number
  intermediateSize: number
  heads: number
  layers: { kind: 'global' | 'sliding'; theta: number }[]
  /** Sliding layers see `|i - j| <= halfWindow`. */
  halfWindow: number
  normEps: number
  headLayers: number
  /** max(1, floor(hiddenSize / 64)). */
  headHeads: number
  /** 1 + number of act costs. */
  actClasses: number
  maxLen: number
  headMaxLen: number
  maxPositions: number
  /** Unclamped, as in the file: choice, score, noul. */
  temperature: unknown[]
  temperatureByOptions: Record<string, unknown>
}
