/** A number as it was written: the model's text depends on `2.0` not being `2`. */
export class JsonNumber {
  constructor(readonly literal: string) {}
}

/** Order-preserving, lossless JSON. Objects are Maps: insertion order, first position and last value of a duplicate. */
export type Json = null | boolean | string | JsonNumber | Json[] | JsonObject
export type JsonObject = Map<string, Json>
