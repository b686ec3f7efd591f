import { isUtf8 } from 'node:buffer'
import { LayaError } from './errors.ts'
import { emptyBody } from './json.ts'

/**
 * Bytes of a request body to text: strict UTF-8, a byte order mark is skipped.
 * @throws LayaError `malformed_request` for no bytes, and for anything else than UTF-8 with the offset of the byte
 * at which it stops being UTF-8 (UTF-16 and UTF-32 stop within the first four).
 */
export function decodeBody(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new LayaError('malformed_request', emptyBody)
  const invalid = invalidByte(bytes)
  if (invalid !== null) {
    throw new LayaError('malformed_request', `request body is not valid UTF-8 (byte ${invalid})`, {
      hint: 'Send the JSON text encoded as UTF-8.',
    })
  }
  return new TextDecoder().decode(bytes)
}

function invalidByte(bytes: Uint8Array): number | null {
  if (isUtf8(bytes)) {
    // UTF-16 and UTF-32 without a mark can be valid UTF-8 full of NUL characters; JSON never begins with one.
    const nul = bytes.subarray(0, 4).indexOf(0)
    return nul === -1 ? null : nul
  }
  // Decoding puts U+FFFD where the text is broken: written back, the first difference lies in that character.
  const written = Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
  let at = 0
  while (written[at] === bytes[at]) at++
  while ((written[at]! & 0xc0) === 0x80) at--
  return at
}
