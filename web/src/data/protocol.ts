// The types of the protocol with the server: see PROTOCOL.md.

export interface View {
  view: string;              // for later requests
  uri: string; rows: number;
  name?: string;             // of the dataset, where the uri does not say it
  branch: string; commit: string; version: number; message: string; time: string;
  query?: string;            // canonical text of the query that the view is the result of
  tensors: Tensor[];
  saves?: boolean;           // api/save is allowed
  sources?: boolean;         // the column "_source" names the files of imported rows
  videos?: boolean;          // api/video and api/times are there
}
export interface Tensor {
  name: string;              // "images", "truth/boxes"
  group: string;             // "truth", or "" outside of groups
  htype: string;             // without sequence[...]
  sequence: boolean;         // a row is a list of items
  list: boolean;             // the htype is a list by nature (polygon): items make one sample
  dtype: string | null;      // NumPy's names, and "string", "json", "bytes"
  time?: string;             // numbers count time: "date", "timestamp[us, UTC]", "interval[s]"
  shape: number[] | null;    // as declared; -1: varies
  min_shape: number[] | null; max_shape: number[] | null;
  class_names: string[];
  info: Record<string, unknown>; // as in the dataset: untrusted
  computed: boolean;         // by the query
  role: "primary" | "overlay" | "side";
  over: string;              // overlay: the name of the primary tensor; else ""
  draw: "image" | "boxes" | "mask" | "segments" | "polygons" | "keypoints" | "points" |
        "label" | "text" | "json" | "number" | "embedding" | "array" | "video";
  boxes?: "LTRB" | "LTWH" | "CCWH";   // draw "boxes": the order of the four numbers; C: the centre
  fractional?: boolean;               // draw "boxes": in parts of the picture, not pixels
  labels?: string[];                  // label tensors that may name the instances, likeliest first
}
export interface Stats {
  rows: number; missing: number;      // rows without a sample
  kind: "classes" | "histogram" | "text" | "none";
  what: string;                       // the counted number: "class", "boxes", "points", "width",
                                      // "length", "items", "value"; "" for kind "none"
  unit?: "rows" | "instances";        // of the counts: instances of lists; left out: rows
  sampled?: number;                   // all numbers but `rows` are estimates from so many rows
  exact?: ("missing" | "min" | "max")[]; // numbers that are exact, since the chunk map has them
  classes?: { value: string | number; name: string; rows: number }[]; // frequent first; at most 200
  more?: number;                      // other classes
  bins?: { from: number; to: number; rows: number }[];
  min?: number; max?: number; mean?: number;
  filters?: string[];                 // for each class or bin: a condition for WHERE
}
export interface Video {
  url: string;                        // of the file, for a player; relative to the page
  media: string; name: string;        // to save the file under
  codec: string; width: number; height: number; bytes: number;
  frames: number; key_frames: number;
  begin: number; duration: number;    // of the first frame, and to the end of the last, in seconds
  fps: number; rotation: number;      // in degrees, clockwise
}
/** The answer of api/times: the times around a time, and the video as a whole. */
export interface FrameTable extends FrameTimes {
  frames: number; width: number; height: number;
  duration: number;                   // to the end of the last frame, in seconds
}
export interface FrameTimes {
  first: number;                      // the number of the first frame in `times`
  times: number[];                    // of the frames around the wanted time, in seconds
}
export interface Progress {
  done: number;
  total: number;                      // 0: no count runs, or its rows are not known yet
}
export interface Versions {
  branch: string;
  branches: { name: string; commit: string; version: number }[];
  tags: { name: string; commit: string; message: string }[];
  saved: { name: string; query: string; rows: number; commit: string }[];
  commits: {                          // newest first
    commit: string; version: number; message: string; author: string; time: string;
    parents: string[];
  }[];
}
export interface Diff {
  from: string; to: string;           // commits
  rows: { added: number; removed: number; updated: number };
  tensors: { name: string; change: "created" | "deleted" | "renamed" | "changed"; was?: string;
             updated: number }[];
  changed: number[];                  // rows of `to` with a changed sample, at most 10,000
  added: number[];                    // rows of `to`, at most 10,000
  removed: number[];                  // rows of `from`, at most 10,000
}

export interface Header {
  end?: true;
  row: number;                        // of the view
  index: number;                      // the row of the dataset; -1: none, as in joins and groups
  column: string;
  item?: number; items?: number;      // of a sequence or list: which item, of how many
  kind: "file" | "array" | "text" | "json" | "video" | "missing" | "error" | "large";
  media?: string;                     // file: "image/jpeg", "image/png", "image/webp"
  width?: number; height?: number;    // of the whole picture; the sent one may be smaller
  region?: number[];                  // the sent part of the whole: [top, left, bottom, right]
  dtype?: string; shape?: number[];   // array: C order, little-endian; bool is a byte
  size?: number;                      // large, video: bytes that were not sent
  codec?: string; frames?: number; seconds?: number; // of a video
  message?: string;                   // error: it cannot be read; video: why no picture came
  reason?: string;                    // error: why no sample can be read; see PROTOCOL.md
}
