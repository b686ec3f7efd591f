// Longer than 250 lines: it is one table of facts with their sources, and splitting it would hide the comparison.

/** One file of a checkpoint. `null`: not published, so it is compared with what the Hub says and recorded. */
export interface CatalogFile {
  path: string
  bytes: number | null
  sha256: string | null
}

/** A fact in plain words and where it was published. */
export interface Statement {
  sentence: string
  source: string
}

export interface CatalogEntry {
  name: string
  title: string
  /** What `/v1/models` says: family, size, window. */
  description: string
  aliases: string[]
  /** Hub id that `/health` and replies name. */
  repo: string
  /** 40 hex digits of the Hub commit; null for the embedded demo, which has none. */
  revision: string | null
  /** Folder inside the repository, '' for its root. */
  folder: string
  files: CatalogFile[]
  /** Bytes of all files together. */
  bytes: number
  /** False: `bytes` is rounded, because sizes of the small files are not published. */
  bytesExact: boolean
  licence: string
  languages: string
  maxLen: number
  headMaxLen: number
  parameters: number
  encoder: string
  /** ISO date shown by `/v1/models`. */
  releaseDate: string
  owner: string
  demo: boolean
  strengths: Statement[]
  weaknesses: Statement[]
}

/** The files a checkpoint needs: all of them, and nothing else. */
export const CHECKPOINT_FILES = [
  'rl_agent_config.json',
  'encoder/config.json',
  'tokenizer/tokenizer.json',
  'tokenizer/tokenizer_config.json',
  'model.safetensors',
] as const

export const WEIGHTS_FILE = 'model.safetensors'

const REPOSITORY = 'convaiinnovations/laya'
const REVISION = '1c5edc17a7acd8701df6fc341c0d179f1c62c982'
const UPSTREAM = 'NandhaKishorM/laya'

const OVERCONFIDENT = (asShipped: string, refitted: string): Statement => ({
  sentence: `Overconfident: calibration error ${asShipped} as shipped, ${refitted} with refitted temperatures. Confidence says how peaked the answer is, not how often it is right.`,
  source: `${UPSTREAM}#35, #124, #186`,
})
const EXTERNAL: Statement = {
  sentence:
    'External tests found 63 to 72 % accuracy with calibration errors of 0.2 to 0.37, and 23 to 30 of 100 right on a hard catalogue set.',
  source: `${UPSTREAM}#135, #171; mizorewww/laya-mlx#8`,
}
const MANY_OPTIONS = (flipRate: string, banking: string): Statement => ({
  sentence: `Above about 20 options quality falls and their order matters: at 20 options ${flipRate} of choices change with the order, and with 77 labels ${banking} of banking questions are right.`,
  source: `${UPSTREAM}#102, #171; mizorewww/laya-mlx#5`,
})
const SHORTENED_OPTIONS: Statement = {
  sentence:
    'Many options share the question window, so their texts are cut to 3 to 47 tokens and can become identical.',
  source: `${UPSTREAM}#311, #538`,
}
const LABEL_WORDS: Statement = {
  sentence:
    'Yes-or-no answers follow the words of their labels, sometimes regardless of the state, and are weak in Chinese. Own, neutral labels help.',
  source: `${UPSTREAM}#156`,
}
const MODERATION: Statement = {
  sentence: 'Content moderation is near chance (toxicity 0.53); jailbreak detection reaches 0.71 to 0.76.',
  source: `${UPSTREAM}, published benchmarks`,
}
const WINDOW = (tokens: number): Statement => ({
  sentence: `Reads about ${tokens} tokens of state; longer states are cut and still answered confidently.`,
  source: `${UPSTREAM}#174, #549`,
})
const GOOD_TOPICS: Statement = {
  sentence: 'Published accuracy: AG News 0.953, spam 0.993, phishing 0.980 to 0.993.',
  source: `${UPSTREAM}, published benchmarks`,
}

function listFiles(weightsBytes: number, weightsSha256: string): CatalogFile[] {
  return CHECKPOINT_FILES.map((path) =>
    path === WEIGHTS_FILE
      ? { path, bytes: weightsBytes, sha256: weightsSha256 }
      : { path, bytes: null, sha256: null },
  )
}

const PUBLISHED = {
  repo: REPOSITORY,
  revision: REVISION,
  licence: 'Apache-2.0',
  releaseDate: '2026-09-18',
  owner: 'convaiinnovations',
  demo: false,
}

/** The published checkpoints and the embedded demo, the demo first as the panel shows it. */
export const CATALOG: readonly CatalogEntry[] = [
  {
    name: 'laya-demo',
    title: 'laya-demo',
    description: 'Laya demo, 7M, 512 tokens: for trying the interface, not for decisions',
    aliases: ['demo'],
    repo: 'laya-demo',
    revision: null,
    folder: '',
    files: [
      {
        path: 'rl_agent_config.json',
        bytes: 469,
        sha256: 'f6782ef71741b82226a33723bd080b91b65892291ce7afab43ccafe3b73f933c',
      },
      {
        path: 'encoder/config.json',
        bytes: 878,
        sha256: 'b179bf3088e734a51053ace9ca36fa934ced17f8ae641022cafa5d75ab002024',
      },
      {
        path: 'tokenizer/tokenizer.json',
        bytes: 534_762,
        sha256: 'e93889fb344d0c63e9c8c625a12d641b8973d98e83d87d5fbd49546a5b547351',
      },
      {
        path: 'tokenizer/tokenizer_config.json',
        bytes: 5631,
        sha256: '680d09a640be5cf8c01099793e66f9ef02490f12f0b4331f1fd0a74a6ea455d1',
      },
      {
        path: WEIGHTS_FILE,
        bytes: 13_927_954,
        sha256: 'ccff176974680ae778a995c2f5c4c5cc468f678564d18af6e7c044af70739e0c',
      },
    ],
    bytes: 14_469_694,
    bytesExact: true,
    licence: 'Apache-2.0 and WordNet 3.0',
    languages: 'English',
    maxLen: 512,
    headMaxLen: 192,
    parameters: 6_960_387,
    encoder: 'ModernBERT, 6 layers, hidden size 256',
    releaseDate: '2026-09-18',
    owner: 'laya-bar',
    demo: true,
    strengths: [
      {
        sentence: 'Answers at once, in the right format, without a download.',
        source: 'models/demo/CARD.md',
      },
    ],
    weaknesses: [
      {
        sentence:
          'A demo, for trying the interface and not for decisions: 40 of 60 fresh hand-written requests are right.',
        source: 'models/demo/CARD.md',
      },
      {
        sentence:
          'Poor on new topics with bare one-word options: 9 of 20 fresh choices are right, where chance gives 24 %.',
        source: 'models/demo/CARD.md',
      },
      {
        sentence:
          'English only. Moderation, phishing, injection, shell-safety and medical answers must not be relied on.',
        source: 'models/demo/CARD.md',
      },
    ],
  },
  {
    ...PUBLISHED,
    name: 'english',
    title: 'Laya English',
    description: 'Laya English, 421M, 512 tokens',
    aliases: ['en', 'laya-english'],
    folder: '',
    files: listFiles(842_609_210, '891102d372688fc2a094dac56a384bc537b87c63f21f9f3dac0be2b7cbc8d86c'),
    bytes: 846_195_574,
    bytesExact: true,
    languages: 'English',
    maxLen: 512,
    headMaxLen: 192,
    parameters: 421_293_827,
    encoder: 'answerdotai/ModernBERT-large',
    strengths: [
      GOOD_TOPICS,
      { sentence: 'Best on English: XNLI English 0.860.', source: `${UPSTREAM}, published benchmarks` },
    ],
    weaknesses: [
      {
        sentence:
          'Outside English it collapses while staying confident: XNLI 0.521 and intent in 51 languages 0.227, where multilingual reaches 0.731 and 0.366.',
        source: `${UPSTREAM}#20, #35, #54, #168`,
      },
      OVERCONFIDENT('0.466', '0.081'),
      EXTERNAL,
      MANY_OPTIONS('15 %', '42.5 %'),
      SHORTENED_OPTIONS,
      WINDOW(483),
      LABEL_WORDS,
      MODERATION,
    ],
  },
  {
    ...PUBLISHED,
    name: 'multilingual',
    title: 'Laya Multilingual',
    description: 'Laya Multilingual, 322M, 1024 tokens',
    aliases: ['multi', 'ml', 'laya-multilingual', 'convaiinnovations/laya-multilingual'],
    folder: 'multilingual',
    files: listFiles(643_835_514, '9d628fd971b700382ac6f65920a86f149777b2e748e0c955fb3b19695aa8f204'),
    bytes: 680_000_000,
    bytesExact: false,
    licence: 'Apache-2.0 (mmBERT base: MIT)',
    languages: 'Many languages',
    maxLen: 1024,
    headMaxLen: 256,
    parameters: 321_908_995,
    encoder: 'jhu-clsp/mmBERT-base',
    strengths: [
      {
        sentence: 'Best outside English: XNLI in other languages 0.731, intent in 51 languages 0.366.',
        source: `${UPSTREAM}, published benchmarks`,
      },
      GOOD_TOPICS,
    ],
    weaknesses: [
      {
        sentence:
          'Never picks the first score level (0 of 290): its answers to score questions are unreliable.',
        source: `${UPSTREAM}#131`,
      },
      OVERCONFIDENT('0.314', '0.106'),
      EXTERNAL,
      MANY_OPTIONS('23 %', '49.2 %'),
      SHORTENED_OPTIONS,
      WINDOW(990),
      LABEL_WORDS,
      MODERATION,
    ],
  },
  {
    ...PUBLISHED,
    name: 'typed-decisions',
    title: 'Laya Typed Decisions',
    description: 'Laya Typed Decisions, 421M, 1024 tokens',
    aliases: [
      'typed',
      'typed_decisions',
      'laya-typed-decisions',
      'decisions',
      'convaiinnovations/laya-typed-decisions',
    ],
    folder: 'typed-decisions',
    files: listFiles(842_609_220, '4fa56de72383a9d3efa9cfa78955733c81b9fc8067a587ca4beb82c78107a24e'),
    bytes: 846_000_000,
    bytesExact: false,
    languages: 'English',
    maxLen: 1024,
    headMaxLen: 256,
    parameters: 421_293_827,
    encoder: 'answerdotai/ModernBERT-large',
    strengths: [
      {
        sentence:
          'Tuned for its own question set: 0.766 there, against 0.361 (english) and 0.342 (multilingual).',
        source: `${UPSTREAM}, published benchmarks`,
      },
    ],
    weaknesses: [
      {
        sentence: 'Tuned for one question set; it is not a general improvement over english.',
        source: `${UPSTREAM}, published benchmarks`,
      },
      EXTERNAL,
      SHORTENED_OPTIONS,
      WINDOW(990),
      LABEL_WORDS,
      MODERATION,
    ],
  },
]

/** The entry a name or alias belongs to. Names are case-sensitive. */
export function findEntry(nameOrAlias: string): CatalogEntry | undefined {
  return CATALOG.find((entry) => entry.name === nameOrAlias || entry.aliases.includes(nameOrAlias))
}
