// Finds the orientation in JPEG files.

/**
 * Returns the parts of a JPEG file without its Exif segments. Browsers turn pictures by the
 * orientation that Exif states, and some of them cannot be told otherwise.
 */
export function withoutOrientation(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let kept = 0;
  let at = 2;
  if (bytes.length < 4 || bytes[0] !== 0xff || bytes[1] !== 0xd8) return [bytes];
  while (at + 4 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1];
    if (marker === 0xff) {
      at++;
      continue;
    }
    // Metadata comes before the scan; SOS starts it and EOI ends the file.
    if (marker === 0xda || marker === 0xd9) break;
    const end = at + 2 + (bytes[at + 2] << 8 | bytes[at + 3]);
    if (end > bytes.length || end < at + 4) break;
    if (marker === 0xe1 && isExif(bytes, at + 4)) {
      parts.push(bytes.subarray(kept, at));
      kept = end;
    }
    at = end;
  }
  parts.push(bytes.subarray(kept));
  return parts;
}

function isExif(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x45 && bytes[at + 1] === 0x78 && bytes[at + 2] === 0x69
    && bytes[at + 3] === 0x66 && bytes[at + 4] === 0;
}
