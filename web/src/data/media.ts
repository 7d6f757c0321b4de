// Tells files of video apart by their first bytes, as the core does.

const headBytes = 64;

/** Returns the media type of a file of video; "": it is none. */
export function mediaOf(file: Uint8Array): string {
  const head = String.fromCharCode(...file.subarray(0, headBytes));
  if (head.startsWith("\x1aE\xdf\xa3")) return head.includes("webm") ? "video/webm" : "video/x-matroska";
  if (head.slice(4, 8) === "ftyp") return head.slice(8, 12) === "qt  " ? "video/quicktime" : "video/mp4";
  if (["styp", "moof"].includes(head.slice(4, 8))) return "video/mp4";
  return ["moov", "mdat", "wide", "free", "skip"].includes(head.slice(4, 8)) ? "video/quicktime" : "";
}
