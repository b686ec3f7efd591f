import type { Pass, PassShape, RowOutput } from '../../models/pass.ts'
import type { Question } from '../../models/question.ts'
import type { TokenRow, Window } from '../../models/sequence.ts'
import type { EngineName, Precision } from '../contract.ts'

/** Which graph of the one writer: precision of linears, lengths, operators. */
export type ProfileName = 'cpu-fp32' | 'cpu-w8' | 'cpu-int8' | 'gpu' | 'gpu-fp32' | 'ane'

/** Everything needed to open one engine on one prepared checkpoint. A plain value: it crosses the thread border. */
export interface EngineSpec {
  engine: EngineName
  profile: ProfileName
  precision: Precision
  /** Folder with rl_agent_config.json, model.safetensors, encoder/, tokenizer/. */
  checkpointFolder: string
  /** Folder of the graphs and side files (holds a hard link to model.safetensors). See models/prepare.ts. */
  workFolder: string
  /** Fixed lengths to load, for profiles with fixed lengths. */
  lengths?: number[]
  /** Core ML flags of the stock binding. */
  coreMlFlags?: number
  threads?: number
  /** Records a profile of the first graph under this path prefix; only trials do. */
  profilePrefix?: string
}

export interface EngineInfo {
  spec: EngineSpec
  shape: PassShape
  /** Session creation, compile included. */
  loadMs: number
  partitions?: number
  nodeShare?: number
  cacheHit?: boolean
  /** Set by the double of the tests and of interface work, never by an engine of the program. */
  fake?: true
}

export interface PassResult {
  /** In the order of `pass.rows`. */
  rows: RowOutput[]
  /** Milliseconds inside the engine's run, measured on its thread. */
  forwardMs: number
}

/** One loaded network. One run at a time; further calls wait their turn. */
export interface Engine {
  readonly info: EngineInfo
  /** Throws EngineError (`inference_failed`) when the native call throws or gives a non-finite number. */
  run(pass: Pass): Promise<PassResult>
  close(): Promise<void>
}

/** Tokenizer and sequence builder of one checkpoint, on the engine's thread so that long texts never block HTTP. */
export interface Encoder {
  readonly window: Window
  /** `list`: the state was a list, so truncation keeps its end. Throws `invalid_question` when markers do not fit. */
  encode(state: { text: string; list: boolean }, questions: Question[], window: Window): Promise<TokenRow[]>
  close(): Promise<void>
}

/** The one worker thread that holds onnxruntime. */
export interface EngineThread {
  openEngine(spec: EngineSpec, onProgress?: (step: string) => void): Promise<Engine>
  openEncoder(checkpointFolder: string): Promise<Encoder>
  /** Settles when the thread ended without being asked: every engine and encoder of it is dead. */
  readonly died: Promise<Error>
  /** Ends the thread. False when it did not end within the time: it is stuck in native code. */
  close(withinMs?: number): Promise<boolean>
}
