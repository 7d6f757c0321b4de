// Reads a region of a picture that is too large to come whole.

import type { Client } from "./client";
import { type DecodePicture, decodeRecord } from "./decode";
import type { SampleRecord } from "./records";
import type { PartOfPicture, RegionWant, Sample } from "./samples";

/** Requests one region; rejects if the request fails, or if the region cannot be read. */
export async function readRegion(client: Pick<Client, "samples">, view: string, want: RegionWant,
  decode: DecodePicture, signal: AbortSignal): Promise<PartOfPicture> {
  const { row, column, item, region, pixels } = want;
  let found: SampleRecord | undefined;
  await client.samples({
    view, rows: [row],
    columns: [{ name: column, pixels, region, ...(item === undefined ? {} : { items: [item, item + 1] }) }],
  }, (record) => void (found = record), signal);
  if (!found) throw new Error("the server did not send the region");
  const place = found.header.region;
  const sample = await decodeRecord(found, pixels, decode);
  if (signal.aborted) {
    if (sample.kind === "picture") sample.bitmap.close();
    throw signal.reason;
  }
  if (!place || (sample.kind !== "picture" && sample.kind !== "array")) {
    throw new Error(reasonOf(sample));
  }
  const [top, left, bottom, right] = place;
  return { sample, place: { x: left, y: top, width: right - left, height: bottom - top } };
}

function reasonOf(sample: Sample): string {
  return sample.kind === "error" ? sample.message : `the region is ${sample.kind}`;
}
