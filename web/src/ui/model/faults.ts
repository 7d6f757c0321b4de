// Finds the place of a fault in the text of the query box.

import { ApiError, messageOf } from "../../data/errors";
import { asQuery, faultLine } from "../text/tql";
import type { QueryFault } from "./state";

/** Describes a refused query, with the place of the fault in the text of the user. */
export function faultOf(error: unknown, text: string): QueryFault {
  const message = messageOf(error);
  const position = error instanceof ApiError ? error.position : undefined;
  const shift = asQuery(text)?.shift ?? 0;
  if (position === undefined || position < shift) return { message, line: "", column: -1 };
  // The page shows the line itself, with the text as the user wrote it.
  const [problem = message] = message.replace(/^query, line \d+, column \d+: /, "").split("\n");
  return { message: problem, ...faultLine(text, position - shift) };
}
